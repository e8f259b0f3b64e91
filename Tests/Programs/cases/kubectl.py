"""kubectl 1.20 (v1beta1) lists namespaces over TLS with the ID token"""

import json

from servers import Handler


def run(world):
    world.ran("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "key.pem", "-out", "cert.pem",
              "-days", "2", "-subj", "/CN=api", "-addext", "subjectAltName=IP:127.0.0.1")
    seen = []

    class API(Handler):
        def do_GET(self):
            seen.append(self.headers.get("Authorization", ""))
            verdict = world.run("oidc", "inspect", "-p", "work", "-o", "json", "-", input=seen[-1].removeprefix("Bearer "))
            if verdict.returncode != 0 or json.loads(verdict.stdout)["signature"] != "valid":
                return self.answer(401, {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 401,
                                         "reason": "Unauthorized", "message": "Unauthorized"})
            path = self.path.partition("?")[0]
            pages = {
                "/api": {"kind": "APIVersions", "versions": ["v1"]},
                "/apis": {"kind": "APIGroupList", "apiVersion": "v1", "groups": []},
                "/api/v1": {"kind": "APIResourceList", "groupVersion": "v1", "resources": [{
                    "name": "namespaces", "singularName": "", "namespaced": False, "kind": "Namespace",
                    "verbs": ["get", "list"]}]},
                "/api/v1/namespaces": {"kind": "NamespaceList", "apiVersion": "v1", "metadata": {}, "items": [
                    {"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": "orchard"}}]},
            }
            self.answer(200, pages[path]) if path in pages else self.answer(404, {"kind": "Status"})

    origin = world.server(API, (world.home / "cert.pem", world.home / "key.pem"))
    world.configure()
    version = world.ran("kubectl", "version", "--client")
    world.expect('Minor:"20"' in version, f"it is version 1.20: {version}")
    setup = world.ran("oidc", "credential", "kubectl", "--setup", "-p", "work")
    world.expect("client.authentication.k8s.io/v1\n" in setup, "the setup is for v1")
    # Debian's kubectl is from before v1.
    (world.home / "oidc.yaml").write_text(setup.replace("k8s.io/v1\n", "k8s.io/v1beta1\n"))
    (world.home / "here.yaml").write_text(json.dumps({
        "apiVersion": "v1", "kind": "Config", "current-context": "here",
        "contexts": [{"name": "here", "context": {"cluster": "here", "user": "oidc-work"}}],
        "clusters": [{"name": "here", "cluster": {
            "server": origin, "certificate-authority": str(world.home / "cert.pem")}}]}))
    world.environment["KUBECONFIG"] = f"{world.home}/here.yaml:{world.home}/oidc.yaml"

    get = ("kubectl", "get", "namespaces", "-o", "name")
    world.refuses(world.run(*get), "not signed in", "oidc login")
    world.sign_in()
    world.expect(world.ran(*get) == "namespace/orchard\n", "the namespaces are listed")
    token = world.ran("oidc", "token", "-p", "work", "--type", "id").strip()
    world.expect(seen[-1] == f"Bearer {token}", "the ID token is what was sent")
