"""What an algorithm's process has on its path: the module `elastisim_python`, which needs no batchlab."""
