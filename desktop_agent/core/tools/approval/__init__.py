"""How a call is decided: judged by the policy, asked about, allowed or not at all."""
