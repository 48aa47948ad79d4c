"""What happens to the agent: scenarios, workloads, logs, and what the field expects."""
