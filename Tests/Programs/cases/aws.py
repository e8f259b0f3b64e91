"""aws and botocore get a role's keys by credential_process, from moto's STS"""

import json
import sys
from datetime import datetime, timedelta, timezone
from pathlib import Path

from world import free_port

ROLE = "arn:aws:iam::123456789012:role/dev"


def run(world):
    port = free_port()
    sts = f"http://127.0.0.1:{port}"
    world.start([Path(sys.executable).parent / "moto_server", "-H", "127.0.0.1", "-p", str(port)], port)
    world.configure(aws_role_arn=ROLE, aws_role_session_name="somebody", aws_sts_endpoint=f"{sts}/")
    config = world.home / ".aws/config"
    config.parent.mkdir()
    config.write_text(world.ran("oidc", "credential", "aws", "--setup", "-p", "work"))
    world.environment |= {"AWS_EC2_METADATA_DISABLED": "true", "AWS_DEFAULT_REGION": "us-east-1"}
    identity = ("/usr/bin/aws", "--profile", "work", "--endpoint-url", sts, "--output", "json", "sts", "get-caller-identity")

    world.refuses(world.run(*identity), "not signed in", "oidc login")
    world.sign_in()
    who = json.loads(world.ran(*identity))
    world.expect(who["Arn"] == "arn:aws:sts::123456789012:assumed-role/dev/somebody", f"aws has the role: {who}")

    script = """
import botocore.session, json
credentials = botocore.session.Session(profile="work").get_credentials()
frozen = credentials.get_frozen_credentials()
print(json.dumps([credentials.method, frozen.access_key, frozen.token, credentials._expiry_time.isoformat()]))
"""
    method, key, token, expiry = json.loads(world.ran(sys.executable, "-c", script))
    world.expect(method == "custom-process" and key.startswith("ASIA") and token, f"botocore has keys: {key}")
    left = datetime.fromisoformat(expiry) - datetime.now(timezone.utc)
    world.expect(timedelta(minutes=5) < left < timedelta(hours=13), f"botocore knows when they expire: {left}")
    world.sign_out()
    world.refuses(world.run(sys.executable, "-c", script), "not signed in", "oidc login")
