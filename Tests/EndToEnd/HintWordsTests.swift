import CommandLineKit
import OIDCCore
import Testing

@testable import oidc

@Suite("hints in the words of the command line")
struct HintWordsTests {
    @Test(
        "a hint names the command, option or setting",
        arguments: [
            (.signIn, "oidc login"), (.signInForScope("a b"), "oidc login --scope 'a b'"),
            (
                .orSignIn(.advice(.checkClient)),
                "check client_id, client_secret and client_auth, or oidc login"
            ),
            (.tryAgain(seconds: 20), "try again in 20 seconds"), (.tryAgain(seconds: nil), "try again later"),
            (.set(.pushedAuthorization, to: "require"), "oidc config set par=require"),
            (.set(.store, to: "file"), "oidc config set store=file"),
            (.setEndpoint(.authorization), "set authorization_endpoint"),
            (.useIssuer("https://op.example/$(id)"), "--issuer 'https://op.example/$(id)'"),
            (.checkPath(of: "configuration"), "check the path in --config or OIDC_CONFIG"),
            (.checkPath(of: "--pending"), "check the path in --pending"),
            (
                .trustAuthority(setting: "SSL_CERT_FILE"),
                "name the file of the authority that signed it in SSL_CERT_FILE"
            ),
            (
                .allowAlgorithm("HS256"),
                "if the client is registered for it and has a secret: "
                    + "oidc config set id_token_signed_response_alg=HS256"
            ),
            (
                .advice(.turnNonceOff), "if the provider's ID tokens never have a nonce, set nonce to off"
            ),
            (
                .advice(.keepTenantsApart),
                "oidc logout --local, and sign in again; or keep both sessions, one of them with --set account=NAME"
            ),
            (.advice(.removeAuthorizeParameter), "remove it from extra_authorize_params"),
            (.advice(.removeTokenParameter), "remove it from extra_token_params"),
            (.advice(.raiseProxyTimeout), "try again, or use oidc proxy with a longer --timeout"),
            (.advice(.checkClock), "check this machine's clock"), (.text("chmod 600 x"), "chmod 600 x"),
        ] as [(Hint, String)])
    func words(_ hint: Hint, _ words: String) {
        #expect(hint.commandLine == words)
    }

    @Test("a command that changes a setting names the profile and file of the command line")
    func completed() {
        var common = CommonOptions()
        #expect(common.completing("oidc config set a=b") == "oidc config set a=b")
        common.profile = "my work"
        common.config = "f.json"
        #expect(
            common.completing("install it, or: oidc config set store=file")
                == "install it, or: oidc config set -p 'my work' --config f.json store=file")
        #expect(common.completing("oidc config set -p x a=b") == "oidc config set -p x a=b")
        #expect(common.completing("oidc config list") == "oidc config list")
        #expect(
            common.completing("write one with: oidc config init")
                == "write one with: oidc config init --config f.json")
        #expect(
            common.completing("oidc config init --config g --issuer URL")
                == "oidc config init --config g --issuer URL")
        #expect(common.completing("oidc login -p x") == "oidc login --config f.json -p x")
        #expect(common.completing("set a, or oidc login") == "set a, or oidc login --config f.json")
        #expect(common.completing("oidc logins") == "oidc logins")
        let error = OIDCError(.usage, "no", hint: .set(.store, to: "file"))
        #expect(
            Diagnostics.report(error, asJSON: false, exitCode: 2, completion: HintCompletion(common))
                == "error: no\n  try: oidc config set -p 'my work' --config f.json store=file\n")
    }

    @Test(
        "if options name the provider, the hint is an option too: the profile's settings are for another one")
    func providerGiven() {
        let hint = "oidc config set dpop=false, if tokens need not be bound"
        for (words, completed) in [
            (["token", "--issuer", "https://a.example"], "--set dpop=false, if tokens need not be bound"),
            (["token", "--client-id=x", "--config", "f"], "--set dpop=false, if tokens need not be bound"),
            (["token", "-p", "a"], "oidc config set -p a dpop=false, if tokens need not be bound"),
        ] {
            let completion = HintCompletion(CommonOptions.lenient(words), words: words)
            #expect(completion.completed(hint) == completed)
        }
    }

    @Test("what to compare with the registration names the place, if a preset knows it")
    func registration() {
        let hint = Hint.checkRegistration(redirectURL: "http://127.0.0.1:1/callback", clientID: "app")
        let words =
            "check that the redirect URL http://127.0.0.1:1/callback is registered for the client app at the provider"
        let error = OIDCError(.timedOut, "timed out", hint: hint)
        #expect(error.naming(registrationPlace: nil) == error && hint.commandLine == words)
        let place = "https://console.example/clients"
        #expect(error.naming(registrationPlace: place).hint == .text("\(words) (\(place))"))
        let other = OIDCError(.refused, "no", hint: .signIn)
        #expect(other.naming(registrationPlace: place) == other)
    }

    @Test("a report ends with the hint, and a warning has it in parentheses")
    func report() {
        let error = OIDCError(.loginRequired, "token: the session has ended", hint: .signIn, stage: .token)
        #expect(
            Diagnostics.report(error, asJSON: false, exitCode: 3)
                == "error: token: the session has ended\n  try: oidc login\n")
        #expect(error.commandLine == "token: the session has ended (oidc login)")
        #expect(error.description == "token: the session has ended (sign in again)")
    }
}
