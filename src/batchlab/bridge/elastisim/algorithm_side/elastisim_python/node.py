"""Compute nodes and their GPUs, under the module's name that they have in ElastiSim's own package."""

from .job import Gpu, GpuState, Node, NodeState, NodeType

__all__ = ["Gpu", "GpuState", "Node", "NodeState", "NodeType"]
