# What the package offers, for checkers and for `lazily`, which imports a name when it is first asked for.

from batchlab.forecast.answer import Forecast as Forecast
from batchlab.forecast.answer import SubmissionForecast as SubmissionForecast
from batchlab.forecast.evaluation import Evaluation as Evaluation
from batchlab.forecast.evaluation import evaluate as evaluate
