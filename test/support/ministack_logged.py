"""Starts the local AWS as a start does, with logs of what functions do there (ministack_calls.py).

  POSTHASTE_CALL_LOG   file for a log of every call of a function (default none)
  POSTHASTE_USE_LOG    file for a log of the permissions that functions use (default none)
"""

import os
import sys

sys.path.append(os.path.join(os.path.dirname(__file__), "../../local"))
import ministack_calls
import ministack_local

ministack_local.apply_corrections()
for module, names in ministack_calls.REPLACED:
    ministack_local.expect(module, *names)
if calls := os.environ.get("POSTHASTE_CALL_LOG"):
    ministack_calls.write_calls(calls)
if uses := os.environ.get("POSTHASTE_USE_LOG"):
    ministack_calls.write_uses(uses)
ministack_local.gateway.main()
