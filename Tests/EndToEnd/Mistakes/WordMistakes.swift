extension Mistake {
    /// Mistakes in words: commands, providers, operands, and what they need.
    static let words: [Mistake] = [
        Mistake(
            "help kubectl", "unknown command 'kubectl', did you mean oidc credential kubectl?",
            "oidc help credential kubectl"),
        Mistake("kubectl get", "did you mean oidc credential kubectl?", "oidc help credential kubectl"),
        Mistake(
            "git", "unknown command 'git', did you mean oidc credential git?", "oidc help credential git"),
        Mistake("show", "unknown command 'show', did you mean oidc config show?", "oidc help config show"),
        Mistake("help presets", "unknown command 'presets'", "oidc help providers"),
        Mistake("man nosuch", "unknown command 'nosuch'", "oidc --help"),
        Mistake("man settings", "\"settings\" is not a command", "oidc help settings"),
        Mistake("man config sett", "did you mean oidc config set?", "oidc help config set"),
        Mistake(
            "config init gogs", "unknown provider \"gogs\"; any other works by its URL",
            "oidc config init --issuer URL --client-id ID"),
        Mistake("config init azure", "unknown provider \"azure\", did you mean entra?", "oidc help entra"),
        Mistake("login azure", "did you mean entra?", "oidc login entra"),
        Mistake(
            "login keycloak https://127.0.0.1:9/realms/a realm=b --client-id x", "realm is given twice",
            "oidc login keycloak domain=https://127.0.0.1:9 realm=a --client-id x"),
        Mistake(
            "request POST http://127.0.0.1:1/ -X PUT", "the method is given twice", "leave --method out"),
        Mistake("request http://127.0.0.1:1/ -X", "--method needs a value", "oidc help request"),
        Mistake(
            "credential git --setup me@git.example.com", "--setup: expected a host, as in git.example.com",
            "oidc credential git --setup git.example.com"),
        Mistake(
            "credential aws --setup", "aws_role_arn is not set",
            "give --set aws_role_arn=ARN"),
        Mistake(
            "credential docker --setup", "docker_registries is not set", "oidc config set 'docker_registries="
        ),
        Mistake(
            "credential headers mcp.example.com", "\"mcp.example.com\" is not a URL",
            "oidc credential headers https://mcp.example.com"),
        Mistake("config rm", "oidc config rm needs NAME", "oidc help config rm"),
        Mistake("config unset", "oidc config unset needs KEY", "oidc help config unset"),
        Mistake("config use", "oidc config use needs NAME", "oidc help config use"),
        Mistake("config check extra", "unexpected argument 'extra'", "oidc help config check"),
        Mistake("config new-key --file", "unknown option '--file'", "oidc help config new-key"),
        Mistake(
            "doctor --offlin", "unknown option '--offlin', did you mean --offline?", "oidc doctor --offline"),
        Mistake("token --scop a", "unknown option '--scop', did you mean --scope?", "oidc token --scope a"),
        Mistake(
            "token --refesh", "unknown option '--refesh', did you mean --refresh?", "oidc token --refresh"),
        Mistake(
            "--verison", "unknown option '--verison' before the command, did you mean --version?",
            "oidc --version"),
        Mistake("help scop", "unknown command 'scop', did you mean scope?", "oidc help scope"),
        Mistake(
            "login ./config.json", "\"./config.json\" is not a profile, a provider known by name, or a URL",
            "oidc login --issuer URL --client-id ID"),
        Mistake("logout --alll", "unknown option '--alll', did you mean --all?", "oidc logout --all"),
        Mistake("demo --server", "unknown option '--server', did you mean --serve?", "oidc demo --serve"),
        Mistake(
            "userinfo --claims x", "unknown option '--claims', did you mean --claim?",
            "oidc userinfo --claim x"),
        Mistake("pkce --lenght 3", "unknown option '--lenght'", "oidc help pkce"),
        Mistake("status wrok", "\"wrok\" is not a URL", "oidc help status"),
        Mistake("logout wrok", "\"wrok\" is not a URL", "oidc help logout"),
        Mistake(
            "proxy", "no URL to serve, and proxy_routes is not set", "oidc proxy https://api.example.com"),
        Mistake("proxy ftp://x", "\"ftp://x\": the scheme is not https", "use https"),
        Mistake("proxy --listen /tmp/x", "--listen takes unix:PATH", "for a TCP port, use --port N"),
        Mistake("exec --min-valid x -- true", "--min-valid takes a whole number from 0", "oidc help exec"),
        Mistake("completions", "missing shell: bash, zsh or fish", "oidc help completions"),
        Mistake("inspect --jwks", "--jwks needs a value", "oidc help inspect"),
        Mistake("discover --issuer", "--issuer needs a value", "oidc help discover"),
        Mistake(
            "token --grant id_jag", "grant id_jag is for a resource", "oidc token --grant id_jag URL"),
        Mistake("login --max-age soon", "--max-age takes a whole number", "oidc help login"),
        Mistake("login --param foo", "--param: expected KEY=VALUE, found \"foo\"", "oidc help login"),
        Mistake("login --par maybe", "--par takes auto, require or off, not 'maybe'", "oidc help login"),
        Mistake(
            "token --resource 'not a uri'", "resource: expected an absolute URI without a fragment",
            "pass a name that is not a URL with --audience"),
    ]
}
