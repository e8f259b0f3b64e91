import Testing

/// A command line with a mistake in it, and what the program answers.
struct Mistake: CustomTestStringConvertible, Sendable {
    /// The words after `oidc`, as typed into a shell.
    let line: String
    /// The cause and its place, as the last `error:` line names them.
    let error: String
    /// The line after `try:`, from its start.
    let hint: String
    var status: Int32 = 2

    init(_ line: String, _ error: String, _ hint: String, status: Int32 = 2) {
        (self.line, self.error, self.hint, self.status) = (line, error, hint, status)
    }

    var testDescription: String { "oidc \(line)" }

    /// The files that the command lines use. `~/.config/oidc/config.json` has the profiles home and work.
    static let files: [(name: String, text: String, mode: Int)] = [
        ("trailing.json", "{\n  \"issuer\": \"https://a.example\",\n}", 0o600), ("empty.json", "", 0o600),
        ("single.json", "{'issuer': 'https://a.example'}", 0o600),
        ("comment.json", "{\n  // mine\n  \"issuer\": \"https://a.example\"\n}", 0o600),
        ("bare.json", "{\n  issuer: \"https://a.example\"\n}", 0o600),
        ("comma.json", "{\n  \"issuer\": \"https://a.example\"\n  \"client_id\": \"x\"\n}", 0o600),
        ("open.json", "{\n  \"issuer\": \"https://a.example", 0o600),
        ("wide.json", "\u{FEFF}{\"issuer\": }", 0o600),
        ("twice.json", "{\"port\": 1,\n \"port\": 2}", 0o600),
        ("unknown.json", "{\"isuer\": \"https://a.example\"}", 0o600),
        ("word.json", "{\"port\": \"8080\"}", 0o600), ("flag.json", "{\"dpop\": \"true\"}", 0o600),
        ("choice.json", "{\"flow\": \"devise\"}", 0o600), ("array.json", "[]", 0o600),
        ("stray.json", "{\"profiles\": {\"a\": {}}, \"issuer\": \"https://a.example\"}", 0o600),
        ("gone.json", "{\"default_profile\": \"b\", \"profiles\": {\"a\": {}}}", 0o600),
        ("several.json", "{\"profiles\": {\"a\": {}, \"b\": {}}}", 0o600),
        ("writable.json", "{}", 0o666), ("secret.json", "{\"client_secret\": \"x\"}", 0o644),
        ("plain.json", "{\"issuer\": \"http://login.example.com\"}", 0o600),
        ("host.json", "{\"issuer\": \"login.example.com\", \"client_id\": \"x\"}", 0o600),
        ("near.json", "{\"default_profle\": \"a\", \"profiles\": {\"a\": {}}}", 0o600),
        ("list.json", "{\"profles\": {\"a\": {}}}", 0o600),
    ]

    static let all = commands + words + settings

    static let commands: [Mistake] = [
        Mistake(
            "login --client_id x", "unknown option '--client_id', did you mean --client-id?",
            "oidc login --client-id x"),
        Mistake(
            "login --isuer=https://127.0.0.1:9/a --client-id 'a b'", "did you mean --issuer?",
            "oidc login --issuer=https://127.0.0.1:9/a --client-id 'a b'"),
        // No secret is repeated, and no line that would be refused again.
        Mistake("login --isuer x --set client_secret=s", "did you mean --issuer?", "oidc help login"),
        Mistake("request --alow-origin x https://a.example?code=s", "--allow-origin?", "oidc help request"),
        Mistake("request -H 'X-Key: s' https://a.example --includ", "--include?", "oidc help request"),
        Mistake("login --client-key s", "did you mean --client-id?", "oidc help login"),
        Mistake("login --isuer x --nosuch", "did you mean --issuer?", "oidc help login"),
        Mistake("exit-codes", "unknown command 'exit-codes'", "oidc help exit-codes"),
        Mistake("nonsense", "unknown command 'nonsense'", "oidc --help"),
        Mistake("logn", "unknown command 'logn', did you mean oidc login?", "oidc login"),
        Mistake(
            "logn https://i.example --client-id x", "did you mean oidc login?",
            "oidc login https://i.example --client-id x"),
        Mistake("swich work", "did you mean oidc switch?", "oidc switch work"),
        Mistake(
            "auth login https://i.example", "unknown command 'auth'", "oidc login https://i.example"),
        Mistake(
            "login https://i.example --device", "unknown option '--device'",
            "oidc login https://i.example --flow device"),
        Mistake(
            "login --issuer https://i.example", "client_id is not set", "oidc login https://i.example"),
        Mistake("auth login", "unknown command 'auth'", "oidc login"),
        Mistake("whoami", "unknown command 'whoami'", "oidc status"),
        Mistake("version", "unknown command 'version'", "oidc --version"),
        Mistake("list", "unknown command 'list'", "oidc status --all"),
        Mistake("--device", "unknown option '--device' before the command", "oidc login --flow device"),
        Mistake("login --device", "unknown option '--device'", "oidc login --flow device"),
        Mistake("config sho", "unknown command 'sho', did you mean oidc config show?", "oidc config show"),
        Mistake(
            "credential kubctl", "unknown command 'kubctl', did you mean oidc credential kubectl?",
            "oidc credential kubectl"),
        Mistake("help nosuch", "unknown command 'nosuch'", "oidc --help"),
        Mistake(
            "help provders", "unknown command or topic 'provders', did you mean providers?",
            "oidc help providers"),
        Mistake("help tokn", "unknown command 'tokn', did you mean oidc token?", "oidc help token"),
        Mistake("config get issuer", "unknown command 'get'", "oidc config show"),
        Mistake("config ls", "unknown command 'ls'", "oidc config list"),
        Mistake(
            "config delete work", "unknown command 'delete'", "oidc config rm NAME"),
        Mistake(
            "config init https://login.example.com", "expected the name of a provider, found the URL",
            "oidc config init --issuer https://login.example.com --client-id ID"),
        Mistake(
            "config init localhost:8080", "expected the name of a provider, found the URL",
            "oidc config init --issuer http://localhost:8080 --client-id ID"),
        Mistake(
            "request localhost:1/x", "\"localhost:1/x\" is not a URL", "oidc request http://localhost:1/x"),
        Mistake(
            "login https://bücher.example/x",
            "\"https://bücher.example/x\" has a host in other letters than ASCII: write it as DNS does, with xn--",
            "oidc help login"),
        Mistake(
            "login localhost", "is not a profile, a provider known by name, or a URL",
            "oidc login http://localhost"),
        Mistake("login gihub", "did you mean github?", "oidc login github"),
        Mistake("login wrok", "did you mean work?", "oidc login work"),
        Mistake("login GitLab", "did you mean gitlab?", "oidc login gitlab"),
        Mistake(
            "login nothinglikeit", "is not a profile, a provider known by name, or a URL",
            "oidc login --issuer URL --client-id ID"),
        Mistake("login github", "client_id is not given", "oidc login github --client-id ID"),
        Mistake("login github --flow device", "client_id is not given", "oidc login github --client-id ID"),
        Mistake(
            "login keycloak realm=a", "keycloak: domain is missing",
            "oidc login keycloak domain=https://sso.example.com realm=a --client-id ID"),
        Mistake(
            "login okta domian=a.okta.com --client-id x", "okta has no parameter \"domian\"",
            "oidc login okta domain=a.okta.com --client-id x"),
        Mistake("login okta a.okta.com", "okta takes NAME=VALUE", "oidc login okta"),
        Mistake(
            "login tenant=contoso.com", "the provider's name is missing before \"tenant=contoso.com\"",
            "oidc login entra tenant=contoso.com --client-id ID"),
        Mistake(
            "login work realm=a", "unexpected argument \"realm=a\" after \"work\"",
            "parameters are for a provider known by name"),
        Mistake("login work -p home", "the profile is named twice: \"work\" and -p", "leave -p out"),
        Mistake(
            "login github -p work --client-id x", "profile \"work\" is not for github",
            "choose another name with -p"),
        Mistake("login ftp://login.example.com", "is not an http or https URL", "oidc help login"),
        Mistake("login htps://login.example.com", "is not an http or https URL", "oidc help login"),
        Mistake("login me@sso.example.com", "is not a profile", "oidc login https://sso.example.com"),
        Mistake("switch wrok", "did you mean work?", "oidc config list"),
        Mistake("switch", "no profile is named", "oidc switch work"),
        Mistake("switch work -p home", "the profile is named twice", "oidc help switch"),
        Mistake("use work", "unknown command 'use'", "oidc switch NAME"),
        Mistake("config rm wrok", "did you mean work?", "oidc config list"),
        Mistake("config rename work home", "profile \"home\" already exists", "choose another name"),
        Mistake("config rename work", "oidc config rename needs NEW-NAME", "oidc help config rename"),
        Mistake("config rename work ''", "a profile needs a name", "oidc help config rename"),
        Mistake("token --no-profile", "--no-profile requires --login", "oidc help token"),
        Mistake("config remove work", "unknown command 'remove'", "oidc config rm NAME"),
        Mistake(
            "token http://api.example/x", "http://api.example is plain http, which is for this machine only",
            "use https"),
        Mistake("token 127.0.0.1:1/x", "\"127.0.0.1:1/x\" is not a URL", "oidc token http://127.0.0.1:1/x"),
        Mistake(
            "login http://u:pw@127.0.0.1:1/x",
            "\"http://…@127.0.0.1:1/x\" contains a user name or a password", "oidc login http://127.0.0.1:1/x"
        ),
        Mistake(
            "token http://127.0.0.1:1/x#f", "has a fragment, which no resource has",
            "oidc token http://127.0.0.1:1/x"),
        Mistake("login https://h:99999/x", "has no port between 1 and 65535", "oidc help login"),
        Mistake("request ftp://x/", "\"ftp://x/\" is not an http or https URL", "oidc help request"),
        Mistake(
            "token --issuer 127.0.0.1:1 --client-id x", "expected an https URL",
            "oidc token --issuer http://127.0.0.1:1 --client-id x"
        ),
        Mistake("-x", "unknown option '-x' before the command", "oidc --help"),
        Mistake("token -header", "unknown option '-header', did you mean --header?", "oidc token --header"),
        Mistake(
            "config init -p new http://127.0.0.1:1/r --client-id my-cli", "found the URL",
            "oidc config init -p new --issuer http://127.0.0.1:1/r --client-id my-cli"),
        Mistake(
            "config init keycloak domain=http://127.0.0.1:1 relam=demo --client-id c",
            "keycloak has no parameter \"relam\"",
            "oidc config init keycloak domain=http://127.0.0.1:1 realm=demo --client-id c"),
        Mistake(
            "config init --issuer https://a.example -p z", "config init: client_id is not given",
            "oidc config init -p z --issuer https://a.example --client-id ID"),
        Mistake("-p work", "oidc needs a command", "oidc --help"),
        Mistake("''", "unknown command ''", "oidc --help"),
        Mistake(
            "login --flow devise", "--flow takes auto, browser, device or paste, not 'devise', did you",
            "oidc login --flow device"),
        Mistake(
            "login --prompt nonsense",
            "--prompt takes none, login, consent, select_account, create or off, not",
            "if the provider has a prompt of its own, --set prompt=VALUE"),
        Mistake(
            "authorize-url --prompt 'login concent'", "not 'concent', did you mean consent?",
            "if the provider has a prompt of its own, --set prompt=VALUE"),
        Mistake(
            "login --browser firefox", "unknown option '--browser'", #"give --set 'browser=["firefox","%s"]'"#
        ),
        Mistake("login --redirect-uri x", "unknown option '--redirect-uri'", "give --set redirect_uri=URL"),
        Mistake("login --scope openid,email", "expected scopes separated by spaces", "oidc help settings"),
        Mistake("token -X POST", "unknown option '-X'", "oidc request POST https"),
        Mistake(
            "request POST http://127.0.0.1:1/ -d @none", "-d @none cannot be read", "check the path after @"),
        Mistake("credential kubernetes", "unknown command 'kubernetes'", "oidc credential kubectl"),
        Mistake(
            "config init gogle", "unknown provider \"gogle\", did you mean google?", "oidc help google"),
        Mistake(
            "token --issuer https:/login.example.com --client-id x", "expected an https URL",
            "oidc token --issuer https://login.example.com --client-id x"),
        Mistake("login --port 0", "--port takes a whole number from 1 to 65535, not '0'", "oidc help login"),
        Mistake(
            "login --port http", "--port takes a whole number from 1 to 65535, not 'http'", "oidc help login"),
        Mistake("login --timeout", "--timeout needs a value", "oidc help login"),
        Mistake(
            "login me", "\"me\" is not a profile, a provider known by name, or a URL",
            "oidc login --issuer URL --client-id ID"),
        Mistake(
            "token mcp.example.com", "\"mcp.example.com\" is not a URL", "oidc token https://mcp.example.com"),
        Mistake(
            "login --no-browser --flow device", "--no-browser requires --flow browser, not device",
            "oidc help login"),
        Mistake("login --prot 1", "unknown option '--prot', did you mean --port?", "oidc login --port 1"),
        Mistake("login --port 1 --port 2", "--port is given twice", "oidc help login"),
        Mistake("token --type refresh", "--type takes access or id, not 'refresh'", "oidc help token"),
        Mistake(
            "token --type id --header", "--header is for access tokens, not --type id", "oidc help token"),
        Mistake(
            "token --min-valid 1h", "--min-valid takes a whole number from 0 to 86400, not '1h'",
            "oidc help token"),
        Mistake("token -o yaml", "--output takes text or json, not 'yaml'", "oidc help token"),
        Mistake("token -p", "--profile needs a value", "oidc help token"),
        Mistake(
            "credential headers https://a.example --setup",
            "--setup needs a value: claude-code, claude-code-gateway or codex", "oidc help credential headers"
        ),
        Mistake(
            "token --grant client_credential",
            "--grant takes authorization_code, client_credentials, token_exchange, jwt_bearer or id_jag, not 'client_credential', did you mean client_credentials?",
            "oidc token --grant client_credentials"),
        Mistake("token --client-secret x", "unknown option '--client-secret'", "set client_secret_file"),
        Mistake(
            "token --type id --grant client_credentials", "grant client_credentials gives no ID token",
            "leave --type id out"),
        Mistake(
            "credential kubectl --grant client_credentials", "grant client_credentials gives no ID token",
            "if the cluster accepts access tokens, give --type access"),
        Mistake("token --config ''", "--config is empty", "give it the path of a file, or leave it out"),
        Mistake("config path --config ''", "--config is empty", "give it the path of a file"),
        Mistake("status --al", "unknown option '--al', did you mean --all?", "oidc status --all"),
        Mistake(
            "logout --local --browser", "--local and --browser cannot be used together", "oidc help logout"),
        Mistake("logout --timeout 3", "--timeout requires --browser", "oidc help logout"),
        Mistake("userinfo --claim ''", "--claim takes the name of a claim, not ''", "oidc help userinfo"),
        Mistake("userinfo email", "unexpected argument 'email'", "oidc help userinfo"),
        Mistake("request", "oidc request needs URL", "oidc help request"),
        Mistake("request example.com", "\"example.com\" is not a URL", "oidc request https://example.com"),
        Mistake(
            "request GET", "the URL is missing after the method GET",
            "oidc request GET https://api.example.com/"),
        Mistake("request https://a.example -H Accept", "--header takes NAME: VALUE", "oidc help request"),
        Mistake(
            "request https://a.example -H 'Authorization: x'", "--header: Authorization cannot be set",
            "oidc help request"),
        Mistake(
            "request https://a.example", "https://a.example is neither the provider nor",
            "give --allow-origin https://a.example if the token is meant for it"),
        Mistake(
            "request http://a.example", "http://a.example is plain http, which is for this machine only",
            "use https"),
        Mistake("LOGIN", "unknown command 'LOGIN', did you mean oidc login?", "oidc login"),
        Mistake("help providers google", "unexpected argument 'google'", "oidc help providers"),
        Mistake(
            "login –flow device", "'–flow' starts with a long dash, did you mean --flow?",
            "oidc login --flow device"),
        Mistake("login --headless", "unknown option '--headless'", "oidc login --no-browser"),
        Mistake(
            "login --flow device --port 1", "--port is for a redirect, and --flow device has none",
            "oidc help login"),
        Mistake(
            "credential docker login", "unknown operation 'login': get, store", "oidc help credential docker"),
        Mistake(
            "request https://a.example GET", "the method comes before the URL",
            "oidc request GET https://a.example"),
        Mistake(
            "request https://a.example '{}'", "unexpected argument '{}' after the URL",
            "oidc request POST https://a.example -d DATA"),
        Mistake(
            "request https://a.example --allow-origin b.example",
            "--allow-origin takes scheme, host and port",
            "give --allow-origin https://b.example"),
        Mistake(
            "exec --proxy b.example -- true", "\"b.example\" is not a URL",
            "oidc exec --proxy https://b.example -- CMD"),
        Mistake("register", "issuer is not set", "oidc register --issuer URL"),
        Mistake(
            "register --issuer https://127.0.0.1:9 --client-id a",
            "--client-id belongs to a client that exists, and register makes a new one",
            "leave --client-id out"),
        Mistake(
            "register --issuer https://127.0.0.1:9 --set client_secret_file=f",
            "--set client_secret_file belongs to a client that exists", "leave --set client_secret_file out"),
        Mistake(
            "register --issuer https://127.0.0.1:9 --grant client_credentials",
            "--grant needs no user, and register makes a client that signs users in", "leave --grant out"),
        Mistake(
            "register --client-metadata https://a.example/c --client-id a",
            "--client-id belongs to a client that exists", "leave --client-id out"),
        Mistake(
            "register --client-metadata https://a.example/c --force",
            "--client-metadata writes no profile, so --force", "oidc help register"),
        Mistake(
            "register --client-metadata https://a.example/c --initial-access-token f",
            "--client-metadata registers nothing, so --initial-access-token", "oidc help register"),
        Mistake("exec", "oidc exec needs CMD", "oidc help exec"),
        Mistake(
            "exec -- nosuch", "\"nosuch\" cannot be run: No such file or directory",
            "check its name and PATH",
            status: 127),
        Mistake("exec --env 1X -- env", "--env takes a variable's name", "oidc help exec"),
        Mistake("inspect eyJhbGci", "a token is not taken from the command line", "oidc inspect - < FILE"),
        Mistake(
            "introspect eyJhbGci", "a token is not taken from the command line", "oidc introspect - < FILE"),
        Mistake("revoke eyJhbGci", "a token is not taken from the command line", "oidc revoke - < FILE"),
        Mistake(
            "revoke --refresh", "unknown option '--refresh', did you mean --refresh-token?",
            "oidc revoke --refresh-token"),
        Mistake("exchange", "--pending FILE is needed", "(umask 077; oidc authorize-url > pending.json)"),
        Mistake(
            "exchange --pending none", "--pending: none cannot be read: there is no such file",
            "check the path in --pending"),
        Mistake("credential git", "missing operation: get, store or erase", "oidc help credential git"),
        Mistake(
            "credential git --setup", "git_hosts is not set",
            #"oidc config set 'git_hosts=[{"host":"git.example.com"}]'"#),
        Mistake("resources", "resources is not set", "oidc config set 'resources="),
        Mistake("completions tcsh", "expected bash, zsh or fish, not 'tcsh'", "oidc help completions"),
        Mistake("demo --port 3", "--port requires --serve", "oidc help demo"),
        Mistake("doctor --fix", "unknown option '--fix'", "oidc help doctor"),
        Mistake(
            "status", "not signed in at https://127.0.0.1:9 (profile home)", "oidc login -p home", status: 3),
        Mistake(
            "token -p work", "not signed in at https://127.0.0.1:9 (profile work)", "oidc login -p work",
            status: 3),
    ]
}
