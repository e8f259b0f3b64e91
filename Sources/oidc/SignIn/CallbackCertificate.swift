import LoopbackHTTP
import OIDCCore
import Posix

/// The certificate that this program makes for callbacks to this machine: for `localhost` and the loopback addresses
/// only, with a key that stays here. It issues no others, and nothing is installed: browsers learn to trust it from the
/// user.
struct CallbackCertificate {
    private let context: CommandContext
    private let files: TLSFiles

    /// The seconds of remaining validity below which a certificate is replaced; others are kept, as browsers
    /// already trust them.
    private static let renewal: Int64 = 30 * 86_400

    init(_ context: CommandContext) throws(OIDCError) {
        let directory = FilePath.split(UserFile.absolute(try context.settingsLoader.requiredPath())).directory
        self.context = context
        files = TLSFiles(
            certificate: FilePath.join(directory, "callback-certificate.pem"),
            key: FilePath.join(directory, "callback-key.pem"))
    }

    /// Makes the certificate, unless there is one that can still be used, and prints its path.
    func run() throws(OIDCError) {
        if let end, end.seconds(since: context.now) > CallbackCertificate.renewal {
            context.console.note("There is a certificate already; it was kept.")
        } else {
            // Browsers trust the file at this path once the user configures them to.
            if let open = UserFile.openDirectory(of: FilePath.split(files.key).directory + "/.") {
                throw .usage(
                    "another user can replace files in \(DisplayText.clean(open))",
                    hint: "let only yourself write there: chmod go-w \(ShellWord.quoted(open))")
            }
            let (certificate, key) = try TLSIdentity.made()
            try write(key.revealed, to: files.key, .callbackKey)
            try write(certificate, to: files.certificate, .callbackCertificate)
        }
        guard context.console.isJSON else { return try context.console.output(text) }
        try context.console.output([
            "certificate": .string(files.certificate), "key": .string(files.key),
            "expires_at": end.map { JSONValue($0.secondsSinceEpoch) } ?? .null,
        ])
    }

    /// The time at which the certificate expires; nil if there is none that can be used.
    private var end: Instant? {
        (try? files.identity(for: "localhost", at: context.now))?.validity?.end
    }

    private func write(_ text: String, to file: String, _ setting: Setting) throws(OIDCError) {
        try UserFile.rewrite(file, followingLinks: false, named: setting.name) { Array(text.utf8) }
    }

    private var text: String {
        let certificate = ShellWord.quoted(files.certificate)
        let expiry = end.map { TimeWords.relative($0, to: context.now) } ?? "unknown"
        let setting = context.console.line.text(
            .run(
                "config", "set", "redirect_uri=https://localhost:8484/callback",
                "callback_certificate=\(files.certificate)", "callback_key=\(files.key)"))
        return """
            Certificate: \(DisplayText.clean(files.certificate))
            Key:         \(DisplayText.clean(files.key))
            Expires:     \(expiry)

            To use it, register the redirect URL https://localhost:8484/callback, and run:

              \(setting)

            Your browser has to trust it first; nothing was installed.

              Chrome and Chromium:  certutil -d sql:$HOME/.pki/nssdb -A -t P,, -n oidc -i \(certificate)
              Firefox:              certutil -d sql:PROFILE-FOLDER -A -t P,, -n oidc -i \(certificate),
                                    or accept the risk when it warns
              curl:                 CURL_CA_BUNDLE=\(certificate)

            Keep the key: whoever has it can pose as https://localhost in a browser that trusts the certificate.
            """
    }
}
