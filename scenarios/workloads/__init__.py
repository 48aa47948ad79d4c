"""Workloads: what happens to the agent, one kind a file. All follow `simulator.contracts.Workload`."""
