"""What a store answered that is no object, in a few words: no credentials, and nothing of its XML.

The library's errors have the request, the answer and its own state in their text; what is known of
them is told here in words of ours.
"""

from __future__ import annotations

import re

from raydb.storage.objects.instance import region_of

# A request is not as a condition wants it.
_CONDITIONS = ("PreconditionError", "AlreadyExistsError")
_DENIED = ("PermissionDeniedError", "UnauthenticatedError")
_STATUS = re.compile(r"status code: (\d{3}) ([A-Za-z ]+)")
_CODE = re.compile(r"<Code>(\w+)</Code>")
_REGION = re.compile(r"<Region>([a-z0-9-]{1,32})</Region>")
# Values, and what an answer holds, must not be in a sentence of ours.
_QUOTED = re.compile(r"\"[^\"]*\"?|'[^']*'?|\?\S*|<.*", re.DOTALL)

# What codes of S3 mean, where they are about credentials; most stores use them.
_ABOUT_KEYS = {
    "InvalidAccessKeyId": "the store does not know the key",
    "SignatureDoesNotMatch": "the secret of the key is wrong",
    "ExpiredToken": "the token has expired",
    "ExpiredTokenException": "the token has expired",
    "TokenRefreshRequired": "the token has expired",
    "InvalidToken": "the token is wrong",
    "RequestTimeTooSkewed": "the clock of this machine is wrong",
    "AuthenticationFailed": "the key or the token is wrong",
}
_OF_REGIONS = (
    "PermanentRedirect",
    "AuthorizationHeaderMalformed",
    "IllegalLocationConstraintException",
)
# What the debugging text says of requests that got no answer, in the order of asking.
_WITHOUT_ANSWER = (
    ("kind: Timeout", "the store did not answer in time, which object_timeout sets"),
    ("dns error", "the name of its server is not known"),
    ("InvalidCertificate", "the certificate of its server is not trusted"),
    ("InvalidMessage(", "its server speaks no TLS; an endpoint without it begins with http://"),
    ("ConnectionRefused", "its server refuses the connection"),
    # Not each is made again: a conditional write is not after a reset.
    ("ConnectionReset", "the connection was lost"),
    ("kind: Interrupted", "the connection was lost"),
    ("kind: Request", "the connection was lost"),
    ("kind: Connect", "its server cannot be reached"),
)
_ROLE = "169.254.169.254"


class PreconditionError(OSError):
    """An object is not as a conditional request wanted it."""


def failure(error: Exception, url: str, *, is_signed: bool = True) -> OSError:
    """Return an error with the URL and a few words, which say nothing of credentials.

    is_signed: whether requests are; that they are not may be why they are denied.
    """
    text = str(error)
    code = _first(_CODE, text)
    if isinstance(error, FileNotFoundError):
        words = "no such bucket" if code == "NoSuchBucket" else "no such object"
        return FileNotFoundError(None, words, url)
    name = type(error).__name__
    if name in _CONDITIONS:
        return PreconditionError(None, "it has changed meanwhile", url)
    status = _STATUS.search(text)
    if _ROLE in text or "token request" in text:
        return PermissionError(None, "access denied: the machine has no role that it gives", url)
    if code in _ABOUT_KEYS:
        return PermissionError(None, f"access denied: {_ABOUT_KEYS[code]}", url)
    if name in _DENIED:
        shown = code or ("" if status is None else status[1])
        words = f"access denied ({shown})" if shown else "access denied"
        return PermissionError(None, words if is_signed else f"{words}, no credentials", url)
    if _misses_region(text, code):
        return OSError(None, _in_another_region(text, url), url)
    if isinstance(error, OSError) and error.strerror:
        return type(error)(error.errno, error.strerror, url)
    return OSError(None, _reason(text, code, status), url)


def _misses_region(text: str, code: str) -> bool:
    """Tell whether a bucket seems to be in another region than the one that was asked for."""
    return "inner: BareRedirect" in text or code in _OF_REGIONS


def _in_another_region(text: str, url: str) -> str:
    scheme, _, rest = url.partition("://")
    bucket = rest.partition("/")[0]
    region = _first(_REGION, text) or (region_of(bucket) if scheme == "s3" else None)
    where = f"the region '{region}'" if region else "another region"
    return f"its bucket is in {where}; name it as REGION of a secret, s3_region or AWS_REGION"


def _reason(text: str, code: str, status: re.Match[str] | None) -> str:
    if status is not None:
        answer = f"{status[1]} {status[2].strip()}" + (f", {code}" if code else "")
        if status[1] in ("429", "503"):
            return f"the store has too much to do, also when asked again ({answer})"
        return f"the store answered {answer}"
    for sign, words in _WITHOUT_ANSWER:
        if sign in text:
            return words
    if "Account must be specified" in text:
        return "the name of the account is not known: ACCOUNT_NAME of a secret says it"
    first = text.splitlines()[0] if text else "an error without a message"
    return _QUOTED.sub("...", first.split(" - ")[-1])[:200]


def _first(pattern: re.Pattern[str], text: str) -> str:
    found = pattern.search(text)
    return "" if found is None else found[1]
