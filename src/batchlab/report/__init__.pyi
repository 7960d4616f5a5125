from batchlab.report.bundle import Bundle as Bundle
from batchlab.report.bundle import read_bundle as read_bundle
from batchlab.report.bundle import write_bundle as write_bundle
from batchlab.report.models import write_adequacy as write_adequacy
from batchlab.report.models import write_fit as write_fit
from batchlab.report.models import write_what_if as write_what_if
from batchlab.report.runs import write as write
