extension Mistake {
    /// Mistakes in settings, profiles and configuration files.
    static let settings: [Mistake] = [
        Mistake("token -p wrok", "there is no profile \"wrok\" in", "oidc config list"),
        Mistake("config use wrok", "there is no profile \"wrok\" in", "oidc config list"),
        Mistake("config set -p wrok flow=device", "there is no profile \"wrok\" in", "oidc config list"),
        Mistake(
            "token --config none.json", "there is no configuration file at none.json",
            "oidc config init --config none.json"),
        Mistake("token --set foo", "--set takes KEY=VALUE, not \"foo\"", "oidc help settings"),
        Mistake(
            "token --set prot=1", "unknown setting \"prot\" in --set, did you mean port?",
            "oidc token --set port=1"),
        Mistake(
            "token --set client_secert=x", "unknown setting \"client_secert\" in --set, did you mean",
            "oidc help settings"),
        Mistake(
            "token --set client_secret=x", "client_secret is not taken from the command line",
            "use client_secret_file"),
        Mistake(
            "token --set flow=devise",
            "--set flow: expected one of auto, browser, device, paste, found \"devise\", did you mean device?",
            "oidc token --set flow=device"),
        Mistake(
            "token --set dpop=yes", "--set dpop: expected true or false, found \"yes\"", "oidc help settings"),
        Mistake(
            "token --set 'resources=[{\"title\": \"a\",}]'",
            "--set resources is not valid JSON (line 1, column 15: trailing comma)", "oidc help settings"),
        Mistake("token --issuer ''", "--issuer: expected a string, found \"\"", "oidc help settings"),
        Mistake("token --scope 'a\"b'", "--scope: expected scopes separated by spaces", "oidc help settings"),
        Mistake(
            "token --issuer login.example.com", "issuer: expected an https",
            "oidc token --issuer https://login.example.com"),
        Mistake(
            "token --issuer http://login.example.com", "issuer: plain http is for loopback only", "use https"),
        Mistake(
            "token --set account=a --set account=b", "--set account is given twice", "give it once"),
        Mistake(
            "token --set scope=openid --set scope=email", "--set scope is given twice", "give it once"),
        Mistake(
            "config show --scope a --set scope=b", "scope is given twice, by --scope and --set",
            "give it once"),
        Mistake(
            "config show --resource https://a.example --set resource=https://b.example",
            "resource is given twice, by --resource and --set", "give it once"),
        Mistake(
            "login --flow device --set flow=paste", "flow is given twice, by --flow and --set", "give it once"
        ),
        Mistake(
            "config init --issuer https://a.example --client-id x --set client_id=y",
            "client_id is given twice, by --client-id and --set", "give it once"),
        Mistake(
            "config set account=a account=b", "config set account is given twice", "give it once"),
        Mistake(
            "config set -p work preset=gogle", "preset: unknown provider \"gogle\", did you mean google?",
            "oidc help providers"),
        Mistake("config set", "oidc config set needs KEY=VALUE", "oidc help config set"),
        Mistake("config set port", "config set takes KEY=VALUE, not \"port\"", "oidc config set port=VALUE"),
        Mistake(
            "config set scop='openid email'", "unknown setting \"scop\" in config set, did you mean scope?",
            "oidc config set 'scope=openid email'"),
        Mistake(
            "config set -p work flow=devise", "config set flow: expected one of auto, browser, device, paste",
            "oidc config set -p work flow=device"),
        Mistake(
            "config set port=0", "config set port: expected a whole number from 1 to 65535",
            "oidc help settings"),
        Mistake(
            "config set flow=device --config /proc/none.json", "/proc/none.json cannot be written",
            "name a file that you can write, by --config FILE or OIDC_CONFIG", status: 1),
        Mistake("config unset flow", "\"flow\" is not set in profile \"home\"", "oidc config show -p home"),
        Mistake(
            "config set --config several.json flow=device",
            "no profile is chosen, and several.json has several: a, b",
            "oidc config use a --config several.json"),
        Mistake("config init", "config init: issuer is not given", "oidc config init"),
        Mistake(
            "config check --config trailing.json", "(line 2, column 32: trailing comma)",
            "fix it, then: oidc config check --config trailing.json"),
        Mistake(
            "token --config empty.json", "issuer is not set",
            "oidc login --config empty.json"),
        Mistake(
            "token --config single.json", "(line 1, column 2: single quotes; JSON has double quotes)",
            "fix it, then: "),
        Mistake(
            "token --config comment.json", "(line 2, column 3: a comment; JSON has none)", "fix it, then: "),
        Mistake(
            "token --config bare.json", "(line 2, column 3: a name without double quotes)", "fix it, then: "),
        Mistake("token --config comma.json", "(line 2, column 32: missing comma)", "fix it, then: "),
        Mistake(
            "token --config open.json",
            "(line 2, column 31: the file ends here, but a quote or bracket is still open)", "fix it, then: "),
        Mistake("token --config wide.json", "(line 1, column 12: a value is missing)", "fix it, then: "),
        Mistake(
            "token --config twice.json", "(line 2, column 2: duplicate member \"port\")", "fix it, then: "),
        Mistake(
            "token --config unknown.json",
            "unknown setting \"isuer\" in profile \"default\" of unknown.json, did you mean issuer?",
            "oidc help settings"),
        Mistake(
            "token --config word.json", "port: expected a whole number from 1 to 65535, found \"8080\"",
            "oidc config set -p default port=8080 --config word.json"),
        Mistake(
            "token --config flag.json", "dpop: expected true or false, found \"true\"",
            "oidc config set -p default dpop=true --config flag.json"),
        Mistake(
            "token --config choice.json",
            "flow: expected one of auto, browser, device, paste, found \"devise\", did you mean device?",
            "oidc help settings"),
        Mistake("token --config array.json", "must hold a JSON object, not an array", "fix it, then: "),
        Mistake(
            "token --config stray.json", "has an unknown member \"issuer\" beside \"profiles\"",
            "move it into a profile, then: "),
        Mistake(
            "token --config gone.json", "default_profile: there is no profile \"b\" (profiles: a)",
            "oidc config use a --config gone.json"),
        Mistake(
            "token --config writable.json", "may be written by others, and it can name programs",
            "chmod go-w writable.json"),
        Mistake(
            "token --config secret.json", "contains a client_secret and may be read by others",
            "chmod 600 secret.json"),
        Mistake("config check --config plain.json", "issuer: plain http is for loopback only", "use https"),
        Mistake(
            "token --config host.json", "found login.example.com (profile default)",
            "oidc config set -p default issuer=https://login.example.com --config host.json"),
        Mistake(
            "config set issuer=login.example.com", "found login.example.com (profile home)",
            "oidc config set -p home issuer=https://login.example.com"),
        Mistake(
            "config set 'git_hosts=[{\"host\":\"https://a.example\"}]'", "git_hosts: host: expected a name",
            "correct it, then: oidc config check"),
        Mistake("token --config /dev/null", "configuration /dev/null belongs to another user", "name a file"),
        Mistake(
            "token --config near.json",
            "\"default_profle\" beside \"profiles\", did you mean default_profile?",
            "correct it, then: oidc config check --config near.json"),
        Mistake(
            "token --config list.json",
            "unknown setting \"profles\" in profile \"default\" of list.json, did you",
            "oidc help settings"),
        Mistake(
            "config set redirect_uri=nonsense", "redirect_uri: expected an absolute URI without a fragment",
            "give one such as http://127.0.0.1/callback"),
        Mistake(
            "config set timeout=forever", "config set timeout: expected a whole number from 1 to 86400",
            "oidc help settings"),
        Mistake(
            "config set browser=firefox", "browser: expected an array of strings, as in [\"program\"",
            "oidc help settings"),
        Mistake(
            "config set store=redsi://h", "store: expected redis://, rediss://", "give a URL such as redis:"),
        Mistake(
            "config set client_secret=x", "client_secret is not taken from the command line",
            "use client_secret_file"),
        Mistake(
            "token --set subject_token_source=github", "did you mean github-actions?",
            "oidc token --set subject_token_source=github-actions"),
        Mistake(
            "discover --issuer http://login.example.com", "issuer: plain http is for loopback only",
            "use https"),
    ]
}
