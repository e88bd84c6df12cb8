# SPDX-License-Identifier: Apache-2.0
"""Random requests, the same ones in each run, signed by sluice and by the vendors' own code."""
import base64
import datetime
import email.utils
import json
import random
import subprocess
import sys
from urllib.parse import parse_qsl, quote, urlsplit

import botocore.auth
import botocore.session
from awscli.customizations.eks.get_token import STSClientFactory, TokenGenerator
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from oci._vendor.httpsig_cffi.sign import HeaderSigner

from checks import check, end

program, key_file, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
dice = random.Random(20260101)
LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
STRANGE = " /+=&?%#:;,@!$'()*~\"<>[]{}|^`\\äπ語\t"
SERVICES = ("autoscaling", "ec2", "eks", "sts", "monitoring", "sqs", "aps", "iam")


def word(alphabet=LETTERS + "-._", least=1, most=12):
    return "".join(dice.choice(alphabet) for _ in range(dice.randint(least, most)))


def path():
    """Escaped, or with what a path may have unescaped; with empty segments and dots."""
    segments = []
    for _ in range(dice.randint(0, 5)):
        segments.append(dice.choice((
            word(), quote(word(LETTERS + STRANGE), safe=""),
            quote(word(LETTERS + STRANGE), safe=":@!$&'()*+,;=~"), "", ".", "..")))
    return "/" + "/".join(segments)


def query():
    """Parameters in any order; some again, some with no value."""
    names = [quote(word(LETTERS + STRANGE, most=6), safe="-_.~") for _ in range(dice.randint(0, 8))]
    parts = []
    for name in names + dice.sample(names, min(len(names), dice.randint(0, 2))):
        value = quote(word(LETTERS + STRANGE, least=0), safe="-_.~")
        parts.append(name if not value and dice.random() < 0.5 else f"{name}={value}")
    dice.shuffle(parts)
    return "?" + "&".join(parts) if parts else dice.choice(("", "?"))


def headers():
    """Values with spaces inside and round them; some names again, in other letters."""
    names = ["X-" + word(LETTERS + "-", most=8) for _ in range(dice.randint(0, 5))]
    names += [name.swapcase() for name in dice.sample(names, min(len(names), dice.randint(0, 2)))]
    if dice.random() < 0.5:
        names.append("Content-Type")
    spaced = LETTERS + "   \t:;,\"=/"
    return [(name, word(spaced, least=0, most=20)) for name in names]


def moment():
    return datetime.datetime(2015, 1, 1, tzinfo=datetime.timezone.utc) + datetime.timedelta(
        seconds=dice.randrange(20 * 365 * 86400))


def ask(requests, *arguments):
    lines = "".join(json.dumps(request) + "\n" for request in requests)
    done = subprocess.run([program, *arguments], input=lines, capture_output=True, text=True,
                          check=True)
    return done.stdout.splitlines()


def random_keys():
    return Credentials(word(LETTERS, 16, 24), word(LETTERS + "/+", 40, 40),
                       word(LETTERS + "/+=", 50, 300) if dice.random() < 0.4 else None)


def opened(token):
    """The URL within a token of EKS; its parameters may have any order."""
    start, _, text = token.partition(".")
    url = urlsplit(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode())
    return [start, text.rstrip("=") == text, url.scheme, url.netloc, url.path,
            sorted(parse_qsl(url.query, keep_blank_values=True))]


def eks():
    """As `aws eks get-token` makes them: some clients, and many clusters each."""
    requests, wanted = [], []
    for _ in range(max(1, count // 500)):
        keys, region = random_keys(), f"{word('abcdef', 2, 2)}-{word('abcdef', 4, 9)}-1"
        session = botocore.session.Session()
        session.set_credentials(keys.access_key, keys.secret_key, keys.token)
        generator = TokenGenerator(STSClientFactory(session).get_sts_client(region))
        for _ in range(50):
            at, cluster = moment(), word(LETTERS + "-_", 1, 100)
            botocore.auth.get_current_datetime = lambda at=at: at
            wanted.append(opened(generator.get_token(cluster)))
            requests.append({
                "id": keys.access_key, "secret": keys.secret_key, "region": region,
                "service": "sts", "at_ms": int(at.timestamp() * 1000), "cluster": cluster,
                "url": f"https://sts.{region}.amazonaws.com",
                **({"token": keys.token} if keys.token else {})})
    return requests, [opened(token) for token in ask(requests)], wanted


def aws():
    requests, wanted = [], []
    for _ in range(count):
        at = moment()
        botocore.auth.get_current_datetime = lambda at=at: at
        keys = random_keys()
        service, region = dice.choice(SERVICES), word("abcdefghij-0123456789", 5, 14)
        host = f"{service}.{word('abcdefgh', 3, 8)}.example" + dice.choice(("", "", ":443", ":8443"))
        body = word(LETTERS + STRANGE, 0, 60) if dice.random() < 0.6 else ""
        request = AWSRequest(method=dice.choice(("GET", "POST", "PUT", "DELETE")),
                             url=f"https://{host}{path()}{query()}", data=body.encode())
        for name, value in headers():
            request.headers.add_header(name, value)
        botocore.auth.SigV4Auth(keys, service, region).add_auth(request)
        wanted.append(request.headers["Authorization"])
        requests.append({
            "id": keys.access_key, "secret": keys.secret_key, "region": region, "service": service,
            "at_ms": int(at.timestamp() * 1000), "method": request.method, "url": request.url,
            "headers": [[name, value] for name, value in request.headers.items()
                        if name != "Authorization"], "body": body})
    return requests, ask(requests), wanted


def oracle():
    requests, wanted = [], []
    key = open(key_file, encoding="ascii").read()
    for _ in range(count // 10):
        at = moment()
        requests.append({
            "key_id": f"ocid1.tenancy.{word()}/ocid1.user.{word()}/aa:bb", "at_ms":
            int(at.timestamp() * 1000), "method": dice.choice(("GET", "DELETE", "PUT", "POST")),
            "url": f"https://{word('abcdefgh', 3, 8)}.example/20180222{path()}{query()}".rstrip("?"),
            "body": word(LETTERS + STRANGE, 0, 60)})
    found = [json.loads(line) for line in ask(requests, key_file)]
    for request, given in zip(requests, found):
        claim = dict(part.split("=", 1) for part in
                     given["Authorization"].removeprefix("Signature ").split(","))
        names = claim["headers"].strip('"').split(" ")
        url = urlsplit(request["url"])
        at = datetime.datetime.fromtimestamp(request["at_ms"] / 1000, datetime.timezone.utc)
        sent = {**given, "Content-Length": str(len(request["body"].encode())),
                "Date": email.utils.format_datetime(at, usegmt=True)}
        signed = HeaderSigner(request["key_id"], key, "rsa-sha256", names).sign(
            sent, host=url.netloc, method=request["method"],
            path=url.path + ("?" + url.query if url.query else ""))
        wanted.append(dict(part.split("=", 1) for part in signed["authorization"].removeprefix(
            "Signature ").split(",")))
        for each in (claim, wanted[-1]):
            each.pop("version", None)
        request["claim"] = claim
    return requests, [request.pop("claim") for request in requests], wanted


for what, (requests, found, wanted) in (("Signature Version 4", aws()), ("Oracle's", oracle()),
                                        ("tokens of EKS", eks())):
    differ = [each for each in zip(requests, found, wanted) if each[1] != each[2]]
    check(f"{what}: {len(requests)} signatures", [len(found), len(differ)], [len(wanted), 0])
    for each in differ[:5]:
        print(*each, sep="\n  ")
end()
