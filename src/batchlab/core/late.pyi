from matplotlib import figure as matplotlib_figure
from rich import console as rich_console
from rich import constrain as rich_constrain
from rich import live as rich_live
from rich import panel as rich_panel
from rich import progress as rich_progress
from rich import progress_bar as rich_progress_bar
from rich import table as rich_table
from rich import text as rich_text
from scipy import special as scipy_special
from scipy import stats as scipy_stats

from batchlab import adequacy as adequacy
from batchlab import application as application
from batchlab import control as control
from batchlab import experiment as experiment
from batchlab import generate as generate
from batchlab import monitor as monitor
from batchlab import observer as observer
from batchlab import options as options
from batchlab import placement as placement
from batchlab import platform as platform
from batchlab import plot as plot
from batchlab import policy as policy
from batchlab import report as report
from batchlab import seam as seam
from batchlab import slurm as slurm
from batchlab import system as system
from batchlab import workload as workload
from batchlab.adequacy import stream as adequacy_stream
from batchlab.bridge import batsim as bridge_batsim
from batchlab.bridge import elastisim as bridge_elastisim
from batchlab.cli import output as cli_output
from batchlab.cli import plain_run as cli_plain_run
from batchlab.cli import recognised as cli_recognised
from batchlab.cli import replay as cli_replay
from batchlab.cli import spooled as cli_spooled
from batchlab.cli import stream as cli_stream
from batchlab.core import declared as core_declared
from batchlab.core import markup as core_markup
from batchlab.core import outputs as core_outputs
from batchlab.core import python_file as core_python_file
from batchlab.experiment import runs as experiment_runs
from batchlab.experiment import source as experiment_source
from batchlab.experiment import specification as experiment_specification
from batchlab.generate import mixing as generate_mixing
from batchlab.monitor import panel as monitor_panel
from batchlab.monitor import questions as monitor_questions
from batchlab.monitor import runs as monitor_runs
from batchlab.monitor import server as monitor_server
from batchlab.observer import description as observer_description
from batchlab.options import drawing as options_drawing
from batchlab.options import overheads as options_overheads
from batchlab.options import run_options as options_run_options
from batchlab.options import sleep as options_sleep
from batchlab.placement import orders as placement_orders
from batchlab.platform import hops as platform_hops
from batchlab.platform import network_model as platform_network_model
from batchlab.platform import presets as platform_presets
from batchlab.platform import quantities as platform_quantities
from batchlab.platform import toml_format as platform_toml_format
from batchlab.plot import canvas as plot_canvas
from batchlab.plot import scales as plot_scales
from batchlab.policy import load as policy_load
from batchlab.policy import orders as policy_orders
from batchlab.policy import policy as policy_policy
from batchlab.policy import schedulers as policy_schedulers
from batchlab.policy import slurm as policy_slurm
from batchlab.report import bundle as report_bundle
from batchlab.report import interactive as report_interactive
from batchlab.result import archive as result_archive
from batchlab.result import manifest as result_manifest
from batchlab.result import near as result_near
from batchlab.result import output as result_output
from batchlab.result import plots as result_plots
from batchlab.result import read as result_read
from batchlab.result import recorded as result_recorded
from batchlab.result import summary as result_summary
from batchlab.result import table as result_table
from batchlab.result import unused as result_unused
from batchlab.result.why import changed as result_why_changed
from batchlab.result.why import split as result_why_split
from batchlab.result.why import summary as result_why_summary
from batchlab.result.why import wait as result_why_wait
from batchlab.result.why import why as result_why_why
from batchlab.simulation import nodes as simulation_nodes
from batchlab.simulation import simulation as simulation_simulation
from batchlab.slurm import twin as slurm_twin
from batchlab.slurm import virtual as slurm_virtual
from batchlab.slurm.virtual import feed as slurm_virtual_feed
from batchlab.system import accounts as system_accounts
from batchlab.system import machines as system_machines
from batchlab.system import queues as system_queues
from batchlab.system import read as system_read
from batchlab.system import reservations as system_reservations
from batchlab.trace import catalogue as trace_catalogue
from batchlab.trace import traces as trace_traces
from batchlab.workload import calendar_time as workload_calendar_time
from batchlab.workload import custom_formats as workload_custom_formats
from batchlab.workload import event_rules as workload_event_rules
from batchlab.workload import event_stream as workload_event_stream
from batchlab.workload import formats as workload_formats
from batchlab.workload import header as workload_header
from batchlab.workload import routing as workload_routing
from batchlab.workload import swf as workload_swf
from batchlab.workload.logs import node_events as workload_logs_node_events
from batchlab.workload.mappings import catalogue as workload_mappings_catalogue
from batchlab.workload.mappings import read as workload_mappings_read

__all__ = [
    "adequacy",
    "adequacy_stream",
    "application",
    "bridge_batsim",
    "bridge_elastisim",
    "cli_output",
    "cli_plain_run",
    "cli_recognised",
    "cli_replay",
    "cli_spooled",
    "cli_stream",
    "control",
    "core_declared",
    "core_markup",
    "core_outputs",
    "core_python_file",
    "experiment",
    "experiment_runs",
    "experiment_source",
    "experiment_specification",
    "generate",
    "generate_mixing",
    "matplotlib_figure",
    "monitor",
    "monitor_panel",
    "monitor_questions",
    "monitor_runs",
    "monitor_server",
    "observer",
    "observer_description",
    "options",
    "options_drawing",
    "options_overheads",
    "options_run_options",
    "options_sleep",
    "placement",
    "placement_orders",
    "platform",
    "platform_hops",
    "platform_network_model",
    "platform_presets",
    "platform_quantities",
    "platform_toml_format",
    "plot",
    "plot_canvas",
    "plot_scales",
    "policy",
    "policy_load",
    "policy_orders",
    "policy_policy",
    "policy_schedulers",
    "policy_slurm",
    "report",
    "report_bundle",
    "report_interactive",
    "result_archive",
    "result_manifest",
    "result_near",
    "result_output",
    "result_plots",
    "result_read",
    "result_recorded",
    "result_summary",
    "result_table",
    "result_unused",
    "result_why_changed",
    "result_why_split",
    "result_why_summary",
    "result_why_wait",
    "result_why_why",
    "rich_console",
    "rich_constrain",
    "rich_live",
    "rich_panel",
    "rich_progress",
    "rich_progress_bar",
    "rich_table",
    "rich_text",
    "scipy_special",
    "scipy_stats",
    "seam",
    "simulation_nodes",
    "simulation_simulation",
    "slurm",
    "slurm_twin",
    "slurm_virtual",
    "slurm_virtual_feed",
    "system",
    "system_accounts",
    "system_machines",
    "system_queues",
    "system_read",
    "system_reservations",
    "trace_catalogue",
    "trace_traces",
    "workload",
    "workload_calendar_time",
    "workload_custom_formats",
    "workload_event_rules",
    "workload_event_stream",
    "workload_formats",
    "workload_header",
    "workload_logs_node_events",
    "workload_mappings_catalogue",
    "workload_mappings_read",
    "workload_routing",
    "workload_swf",
]
