# Lets the sandbox of Desktop Agent (bubblewrap) make user namespaces on systems that forbid them to programs without a profile, as Ubuntu
# does since 24.04. It restricts nothing. The programs that Desktop Agent starts share it, unless they have a profile of their own.
abi <abi/4.0>,
include <tunables/global>

profile desktop-agent /usr/lib/desktop-agent/desktop-agent flags=(unconfined) {
  userns,

  include if exists <local/desktop-agent>
}
