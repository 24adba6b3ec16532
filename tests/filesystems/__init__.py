"""Real file systems for tests: started, mounted, used and stopped, without leaving a trace."""
