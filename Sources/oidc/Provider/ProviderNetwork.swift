import CurlHTTP
import OIDCCore
import OIDCCrypto
import OIDCSessions
import Posix

/// The connection to the provider.
extension ProviderContext {
    /// Returns the environment of requests, with the transport and cache of the settings.
    func environment() throws(OIDCError) -> ProviderEnvironment { environment(over: try transport()) }

    func environment(over transport: any HTTPTransport) -> ProviderEnvironment {
        ProviderEnvironment(transport: transport, cache: cache, now: { Clock.now() }, random: Random.bytes)
    }

    func documents(_ environment: ProviderEnvironment) -> ProviderDocuments {
        ProviderDocuments(environment: environment, allowsInsecureHTTP: allowsInsecureHTTP)
    }

    private var cache: any DocumentCache {
        guard let directory = StateDirectories(environment: context.environment).cache else {
            return NoCache()
        }
        let cache = MetadataCache(directory: directory)
        return context.console.isVerbose ? CacheTrace(cache, context.console) : cache
    }

    func transport() throws(OIDCError) -> CurlTransport {
        if allowsInsecureHTTP {
            context.console.warn("allow_insecure_http is set: tokens may cross the network in the open")
        }
        return CurlTransport(try curlConfiguration())
    }

    func curlConfiguration() throws(OIDCError) -> CurlConfiguration {
        var configuration = CurlConfiguration()
        configuration.httpTimeout = .seconds(settings.network.httpTimeout)
        configuration.deadline = deadline
        configuration.allowInsecureHTTP = allowsInsecureHTTP
        configuration.userAgent = "oidc/\(Version.number)"
        if context.ownsTerminal {
            configuration.onPostponedSignal = { [console = context.console] in console.noteFinishing() }
        }
        if let authorities = settings.network.authorities {
            configuration.caFile = CurlConfiguration.CertificateAuthorities(
                path: authorities.path, name: authorities.name)
        } else if let path = context.environment["SSL_CERT_FILE"], !path.isEmpty {
            configuration.caFile = CurlConfiguration.CertificateAuthorities(
                path: path, name: "SSL_CERT_FILE")
        }
        configuration.clientCertificate = try clientCertificate()
        configuration.certificateOrigins = settings.client.certificateOrigins
        if context.console.isVerbose {
            let console = context.console
            configuration.trace = { console.trace($0.line) }
        }
        return configuration
    }

    private func clientCertificate() throws(OIDCError) -> CurlConfiguration.ClientCertificate? {
        switch (settings.client.certificate, settings.client.certificateKey) {
        case (nil, nil): return nil
        case (let certificate?, let key?):
            let secrets = secrets
            if let file = try UserFile.read(key.path, limit: 1 << 20, named: key.name) {
                try secrets.check(file, key)
            }
            return CurlConfiguration.ClientCertificate(
                certificatePath: certificate.path, certificateName: certificate.name, keyPath: key.path,
                keyName: key.name,
                passphrase: try secrets.text(settings.client.privateKeyPassphrase))
        case (nil, _?): throw OIDCError.usage("tls_client_key is set, tls_client_certificate is not")
        case (_?, nil): throw OIDCError.usage("tls_client_certificate is set, tls_client_key is not")
        }
    }
}
