"""Keeps ministack usable on a busy machine: caches parsed texts, and collects all log lines of a function."""

import functools
import queue
import sys
import time

import ministack.core.iam_evaluator as iam_evaluator
import ministack.core.lambda_runtime as lambda_runtime
import ministack.services.dynamodb as dynamodb

REPLACED = [
    (dynamodb, ("_tokenize", "_condition_syntax_error")),
    (iam_evaluator, ("parse_policy_document",)),
    (lambda_runtime, ("Worker", "_NODEJS_WORKER_SCRIPT")),
    (getattr(lambda_runtime, "Worker", lambda_runtime), ("_drain_stderr_bounded",)),
]


def apply_corrections():
    cache_parsed_texts()
    collect_all_log_lines()


# --- Cache parsed expressions and policies: parsing them per request takes a tenth of ministack's time ------

# A deployment has a few hundred expressions and policies. Cached values are never modified.
cached = functools.lru_cache(maxsize=1024)


def cache_parsed_texts():
    dynamodb._tokenize = cached(dynamodb._tokenize)
    dynamodb._condition_syntax_error = cached(dynamodb._condition_syntax_error)
    parse = iam_evaluator.parse_policy_document
    parse_text = cached(parse)
    iam_evaluator.parse_policy_document = lambda policy: (parse_text if isinstance(policy, str) else parse)(policy)


# --- Logs: ministack stops reading 5 ms after a line, so later lines appear with the next run or are lost -----

ANSWER = '_realStdoutWrite(JSON.stringify({ status: "ok", result: res }) + "\\n");'
END = "end of the lines of this run"
LONGEST_WAIT_SECONDS = 1


def collect_all_log_lines():
    """Node functions write an end marker before their response. For failures and other runtimes, ministack's wait is kept."""
    script, drain = lambda_runtime._NODEJS_WORKER_SCRIPT, lambda_runtime.Worker._drain_stderr_bounded
    if script.count(ANSWER) != 1:
        sys.exit("ministack's script for functions has changed: log lines would be lost")
    lambda_runtime._NODEJS_WORKER_SCRIPT = script.replace(ANSWER, f'process.stderr.write("{END}\\n"); {ANSWER}')

    def drained(self, **limits):
        if self._proc is None or not self.config.get("Runtime", "").startswith("nodejs"):
            return drain(self, **limits)
        lines, deadline = [], time.monotonic() + LONGEST_WAIT_SECONDS
        try:
            while (line := self._stderr_queue.get(timeout=max(0, deadline - time.monotonic()))) != END:
                lines.append(line)
        except queue.Empty:
            pass
        return "\n".join(lines)

    lambda_runtime.Worker._drain_stderr_bounded = drained
