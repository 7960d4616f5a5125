# What the package offers, for checkers and for `lazily`, which imports a name when it is first asked for.

from batchlab.workload.anonymisation import anonymise as anonymise
from batchlab.workload.description import JobDescription as JobDescription
from batchlab.workload.event_files import read_events as read_events
from batchlab.workload.event_files import write_events as write_events
from batchlab.workload.event_stream import EventStream as EventStream
from batchlab.workload.header import Header as Header
from batchlab.workload.header import HeaderEntry as HeaderEntry
from batchlab.workload.logs.cobalt import read_cobalt as read_cobalt
from batchlab.workload.logs.jobcomp import read_jobcomp as read_jobcomp
from batchlab.workload.logs.lsf import read_lsf as read_lsf
from batchlab.workload.logs.maui import read_maui as read_maui
from batchlab.workload.logs.pbs import read_pbs as read_pbs
from batchlab.workload.logs.sacct import read_sacct as read_sacct
from batchlab.workload.logs.sge import read_sge as read_sge
from batchlab.workload.mappings.mapping import LogMapping as LogMapping
from batchlab.workload.mappings.read import read_mapped as read_mapped
from batchlab.workload.records import Reader as Reader
from batchlab.workload.records import read_records as read_records
from batchlab.workload.report import Report as Report
from batchlab.workload.swf import read_swf as read_swf
from batchlab.workload.swf_writer import write_swf as write_swf
from batchlab.workload.tables import read_table as read_table
from batchlab.workload.tables import write_table as write_table
from batchlab.workload.workload import Workload as Workload
from batchlab.workload.writer import Writer as Writer
from batchlab.workload.writer import write_workload as write_workload
