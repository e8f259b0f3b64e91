import CurlHTTP
import OIDCCore
import OIDCCrypto
import Posix
import Synchronization

/// The part of `oidc doctor` that needs the network, and the quirks of the provider.
struct ProviderChecks {
    let provider: ProviderContext
    let isOffline: Bool

    private var settings: Settings { provider.settings }
    private var variables: Variables { provider.context.environment }

    func findings() -> [Finding] {
        func withoutMetadata() -> [Finding] {
            securityProfile(nil) + clientAlone() + [Finding("proxy") { proxy(isReached: true) }]
        }
        guard let issuer = settings.provider.issuer else {
            return (known.isEmpty ? [Finding("provider", named)] : known) + withoutMetadata()
        }
        guard !isOffline else {
            return known + [Finding("discovery", .ok, "not asked (--offline)")] + withoutMetadata()
        }
        let probe: DateProbe
        do throws(OIDCError) { probe = DateProbe(transport: try provider.transport()) } catch {
            return [Finding("TLS", error)]
        }
        var environment = provider.environment(over: probe)
        environment.cache = NoCache()
        var findings = known + discovery(environment, probe)
        findings.append(
            Finding("TLS") { () throws(OIDCError) in try tls(WebURL.ofIssuer(issuer), probe) })
        findings.append(Finding("proxy") { proxy(isReached: probe.failure?.kind != .unreachable) })
        findings.append(
            Finding("clock") { probe.clock(now: provider.context.now, leeway: settings.network.leeway) })
        return findings
    }

    /// Findings from the preset that matches the settings.
    private var known: [Finding] {
        Preset.matching(settings).map { PresetChecks(match: $0, settings: settings).findings() } ?? []
    }

    private func named() throws(OIDCError) -> Finding.Outcome {
        // Sign-ins to a URL need no provider in the settings.
        let resources = ResourceRecords(provider.context)?.urls ?? []
        if settings.provider.endpoint(.token) == nil,
            !resources.isEmpty || settings.client.metadataURL != nil || settings.ownResource != nil
        {
            let list = resources.isEmpty ? "none yet" : resources.joined(separator: ", ")
            return .ok("none is set; resources that were signed in to: \(list)")
        }
        guard settings.provider.endpoint(.token) != nil else {
            return .problem(
                "issuer is not set",
                hint: provider.profileChoice.map { .text($0) } ?? provider.setUpLine)
        }
        let metadata = try provider.metadata(try provider.environment(), for: [])
        if let obstacle = provider.obstacles(metadata).first { throw obstacle.error }
        return .ok("endpoints are set; without issuer, ID tokens are not accepted")
    }

    private func discovery(_ environment: OIDCContext, _ probe: DateProbe) -> [Finding] {
        var findings: [Finding] = []
        func ofClient(_ metadata: ProviderMetadata?) -> Finding {
            Finding("client") { () throws(OIDCError) in try client(metadata, environment) }
        }
        let metadata: ProviderMetadata
        do throws(OIDCError) {
            metadata = try provider.metadata(environment, for: [.authorization, .token, .keys])
        } catch {
            return [Finding("discovery", error)] + securityProfile(nil) + [ofClient(nil)]
        }
        findings.append(
            Finding("discovery", .ok, metadata.isDiscovered ? discovered(metadata) : "endpoints are set"))
        let obstacles = provider.obstacles(metadata)
        findings += obstacles.map { Finding("metadata", $0.error.orReported) }
        let remarks = metadata.isDiscovered ? metadata.namedRemarks : []
        let others = remarks.filter { remark in !obstacles.contains { $0.member == remark.member } }
        // These are not warnings, as sound providers have some of them too, and nobody would read so many
        // warnings.
        if !others.isEmpty {
            let list = others.map(\.text).joined(separator: "; ")
            findings.append(Finding("metadata", .ok, "worth knowing: \(list)"))
        } else if obstacles.isEmpty {
            findings.append(Finding("metadata", .ok, "nothing is missing or unsafe"))
        }
        findings += securityProfile(metadata)
        if let url = metadata.jwksURI {
            findings.append(
                Finding("keys") { () throws(OIDCError) in try keys(url, metadata, environment) })
        }
        findings.append(ofClient(metadata))
        return findings
    }

    /// Returns findings about what client and provider lack for the security profile; none if no profile is
    /// set.
    private func securityProfile(_ metadata: ProviderMetadata?) -> [Finding] {
        let profile = settings.securityProfile
        guard profile != .none else { return [] }
        let errors =
            settings.securityProfileViolations
            + (metadata.map { settings.securityProfileObstacles($0) } ?? [])
        guard errors.isEmpty else { return errors.map { Finding("security profile", $0) } }
        let parties = metadata == nil ? "the settings meet it" : "settings and provider meet it"
        return [Finding("security profile", .ok, "\(profile.rawValue): \(parties)")]
    }

    /// Returns the metadata's issuer, the `metadata_url` if it is set, and the meaning of an issuer template.
    private func discovered(_ metadata: ProviderMetadata) -> String {
        let issuer = metadata.issuer ?? ""
        let isTemplate = IssuerTemplate(issuer) != nil
        return DisplayText.clean(
            issuer + (settings.provider.metadataURL.map { ", from \($0)" } ?? "")
                + (isTemplate ? "; a session is of the tenant that signed in first" : ""))
    }

    private func keys(
        _ url: WebURL, _ metadata: ProviderMetadata, _ environment: OIDCContext
    ) throws(OIDCError) -> Finding.Outcome {
        let algorithms = settings.client.idTokenAlgorithms ?? metadata.idTokenSigningAlgValuesSupported ?? []
        if SignatureAlgorithm.areSymmetric(algorithms) {
            let names = DisplayText.clean(algorithms.joined(separator: ", "), limit: 100)
            let detail = "ID tokens are signed with the client's secret (\(names))"
            return settings.client.secret == nil
                ? .problem("\(detail), and none is set", hint: .advice(.giveClientSecret))
                : .ok("none needed: \(detail)")
        }
        let set = try provider.documents(environment).keys(url).keys(refetching: true)
        if let id = set.publishedPrivateKeyIDs.first {
            let name = id.isEmpty ? "a key" : "key \(DisplayText.quoted(id, limit: 60))"
            return .warning(
                "\(name) is published with its private half: anyone can sign with it",
                hint: "tell the provider's operator at once: the key must be replaced")
        }
        let count = set.keys.count
        return count > 0
            ? .ok("\(count) at \(url.withoutQuery)")
            : .problem(
                "none that can be used at \(url.withoutQuery)",
                hint: "report it to the provider's operator: ID tokens cannot be verified")
    }

    /// Checks the client if no issuer is set.
    private func clientAlone() -> [Finding] {
        guard settings.client.id != nil else { return [] }
        return [Finding("client") { () throws(OIDCError) in try client(nil, try provider.environment()) }]
    }

    /// Checks that the client can authenticate. Reads its secrets, but never prints them.
    private func client(
        _ metadata: ProviderMetadata?, _ environment: OIDCContext
    ) throws(OIDCError) -> Finding.Outcome {
        let client = try provider.client(metadata, environment)
        for secret in settings.client.secretFiles {
            let file = try UserFile.require(secret.path, limit: 1 << 20, named: secret.name)
            guard file.permissions & 0o077 != 0 else { continue }
            return .warning(
                "\(secret.name): \(secret.path) may be read by others",
                hint: "chmod 600 \(ShellWord.quoted(secret.path))")
        }
        let method = client.authentication.method
        // RFC 6749 §4.4: the grant is for confidential clients only.
        if method == "none", settings.token.grant == .clientCredentials {
            return .problem(
                "client_credentials without any client authentication", hint: .advice(.giveClientSecret))
        }
        return .ok("\(client.id) (\(method == "none" ? "public client" : method))")
    }

    private func tls(_ issuer: WebURL?, _ probe: DateProbe) throws(OIDCError) -> Finding.Outcome {
        if let failure = probe.failure, failure.kind == .untrusted || failure.kind == .usage {
            throw failure
        }
        if provider.allowsInsecureHTTP {
            return .warning(
                "allow_insecure_http is set: tokens may cross the network in the open",
                hint: "use https, and remove allow_insecure_http")
        }
        guard issuer?.isSecure == true else {
            return issuer?.isLoopback == true
                ? .ok("plain http, on this machine")
                : .problem("the issuer is not an https URL", hint: "use https")
        }
        return .ok("\(probe.isAnswered ? "verified; " : "")trusts \(authorities)")
    }

    private var authorities: String {
        if let file = settings.network.authorities { return "ca_file \(file.path)" }
        if let path = variables["SSL_CERT_FILE"], !path.isEmpty { return "SSL_CERT_FILE \(path)" }
        return "this machine's authorities"
    }

    /// Reports the proxies by scheme, host and port only: a URL may hold a password.
    private func proxy(isReached: Bool) -> Finding.Outcome {
        let names = ["https_proxy", "HTTPS_PROXY", "http_proxy", "all_proxy", "ALL_PROXY"]
        let set = names.compactMap { name -> String? in
            guard let value = variables[name], !value.isEmpty else { return nil }
            return "\(name)=\(ProxyURL.redacted(value) ?? "(not a URL with host and port)")"
        }
        let exceptions = variables["no_proxy"] ?? variables["NO_PROXY"] ?? ""
        guard !set.isEmpty else {
            let isIgnored = variables["HTTP_PROXY"]?.isEmpty == false
            return isIgnored
                ? .warning("HTTP_PROXY is ignored, as by curl", hint: "set http_proxy, https_proxy")
                : .ok("none")
        }
        let detail =
            set.joined(separator: ", ") + (exceptions.isEmpty ? "" : ", no_proxy=\(exceptions)")
            + "; never used for this machine"
        return isReached
            ? .ok(detail)
            : .warning(detail, hint: "check these: the provider is unreachable")
    }
}

/// A transport that records the provider's `Date` header and the first failure.
final class DateProbe: HTTPTransport {
    private struct Observations {
        var date: Instant?
        var answers = 0
        var failure: OIDCError?
    }

    private let transport: CurlTransport
    private let observations = Mutex(Observations())

    init(transport: CurlTransport) {
        self.transport = transport
    }

    func send(_ request: HTTPRequest, stage: Stage) throws(OIDCError) -> HTTPResponse {
        do {
            let response = try transport.send(request, stage: stage)
            observations.withLock {
                $0.answers += 1
                $0.date = response.headers["Date"].flatMap(HTTPDate.instant) ?? $0.date
            }
            return response
        } catch {
            observations.withLock { $0.failure = $0.failure ?? error }
            throw error
        }
    }

    var failure: OIDCError? { observations.withLock { $0.failure } }
    var isAnswered: Bool { observations.withLock { $0.answers > 0 } }

    /// Compares the clocks. A few seconds may be the response's delay; beyond the leeway, tokens are refused.
    func clock(now: Instant, leeway: Int64) -> Finding.Outcome {
        guard let date = observations.withLock({ $0.date }) else {
            let time = TimeWords.clock(now, now: now).map { "\($0); " } ?? ""
            return .ok("\(time)nothing to compare it with")
        }
        let difference = now.seconds(since: date)
        guard abs(difference) > 5 else { return .ok("agrees with the provider's") }
        let words =
            "\(TimeWords.duration(abs(difference))) \(difference > 0 ? "ahead of" : "behind") the provider's"
        return Finding.Outcome(
            result: abs(difference) > leeway ? .problem : .warning, detail: words,
            hint: "set this machine's clock; ID tokens are refused beyond the leeway of \(leeway) s")
    }
}
