"""The import path of an algorithm's process: the module `elastisim_python`, independent of batchlab."""
