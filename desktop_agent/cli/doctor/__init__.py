"""`desktop-agent doctor`: whether everything the application needs works here. Every check tries the thing itself."""
