"""Lets ministack parse each expression and policy once. It does so for every request, and a filter for every item: a tenth of its time."""

import functools

import ministack.core.iam_evaluator as iam_evaluator
import ministack.services.dynamodb as dynamodb

REPLACED = [(dynamodb, ("_tokenize", "_condition_syntax_error")), (iam_evaluator, ("parse_policy_document",))]

# A deployment's expressions and policies are some hundred. What is remembered is read, never changed.
remembered = functools.lru_cache(maxsize=1024)


def parse_once():
    dynamodb._tokenize = remembered(dynamodb._tokenize)
    dynamodb._condition_syntax_error = remembered(dynamodb._condition_syntax_error)
    parse = iam_evaluator.parse_policy_document
    parse_text = remembered(parse)
    iam_evaluator.parse_policy_document = lambda policy: (parse_text if isinstance(policy, str) else parse)(policy)
