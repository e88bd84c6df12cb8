# SPDX-License-Identifier: Apache-2.0
"""google-auth against the simulator: the ways to log in beside a key file.  Each token is good for a
read of a group."""
import json
import sys

import requests
from google.auth import compute_engine, identity_pool
from google.auth.exceptions import OAuthError, RefreshError
from google.auth.transport.requests import AuthorizedSession
from google.oauth2.credentials import Credentials

from checks import check, end, refusal

user_file, user_url, workload_file, workload_url = sys.argv[1:5]
SCOPES = ["https://www.googleapis.com/auth/cloud-platform"]
GROUP = "/gcp/compute/v1/projects/p-1/zones/us-east5-a/instanceGroupManagers/gpu-grp"


def reads(url, credentials):
    return AuthorizedSession(credentials).get(url + GROUP).status_code


def user(**changes):
    given = {**json.load(open(user_file, encoding="utf-8")), **changes}
    return Credentials(None, refresh_token=given["refresh_token"], client_id=given["client_id"],
                       client_secret=given["client_secret"], token_uri=user_url + "/gcp/token")


def workload(**changes):
    given = {**json.load(open(workload_file, encoding="utf-8")), **changes,
             "token_url": workload_url + "/gcp/v1/token"}
    return identity_pool.Credentials.from_info(given, scopes=SCOPES)


check("no token", requests.get(user_url + GROUP, timeout=10).status_code, 401)
check("a user", reads(user_url, user()), 200)
check("a token that was revoked", "invalid_grant" in str(
    refusal(RefreshError, reads, user_url, user(refresh_token="old"))), True)
check("another client", "invalid_client" in str(
    refusal(RefreshError, reads, user_url, user(client_secret="x"))), True)
check("a workload", reads(workload_url, workload()), 200)
check("another pool", "invalid_grant" in str(
    refusal(OAuthError, reads, workload_url, workload(audience="//iam.googleapis.com/x"))), True)
check("a workload in the name of an account", reads(workload_url, workload(
    service_account_impersonation_url=workload_url + "/gcp/v1/projects/-/serviceAccounts/"
    "a@p-1.iam.gserviceaccount.com:generateAccessToken")), 200)
check("a machine's own account", reads(workload_url, compute_engine.Credentials()), 200)
end()
