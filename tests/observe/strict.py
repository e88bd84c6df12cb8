# SPDX-License-Identifier: Apache-2.0
"""strict.py <METRICS: the reference parser of OpenMetrics takes the text; prints what it finds wrong."""
import sys

from prometheus_client.openmetrics.parser import text_string_to_metric_families

try:
    families = list(text_string_to_metric_families(sys.stdin.read()))
except ValueError as error:
    sys.exit(str(error))
if len(families) < 40:
    sys.exit(f"only {len(families)} families")
