import Foundation
import OIDCSessions
import Posix
import Testing

@testable import OIDCCore
@testable import oidc

/// What each place that decides about a setting answers, for every layer and all that it can name.
@Suite("which settings reach a server, by the layer that sets them and by what it names", .serialized)
struct SettingsReachTests {
    @Test("each place answers as the table says; OIDC_WRITE_DOCUMENTATION=1 writes it")
    func table() throws {
        let world = try ReachWorld()
        defer { world.remove() }
        let found = try ReachRow.all.map { try world.line($0) }
        if ProcessInfo.processInfo.environment["OIDC_WRITE_DOCUMENTATION"] == "1" {
            try SettingsReachTable.write(found)
        } else {
            let expected = SettingsReachTable.text.split(separator: "\n").map(String.init)
            #expect(found.count == expected.count)
            for (found, expected) in zip(found, expected) { #expect(found == expected) }
        }
    }

    private static let app: [(Setting, JSONValue)] = [
        (.issuer, .string(ReachWorld.issuer)), (.clientID, .string(ReachWorld.client)),
    ]
    private static let otherClient: [(Setting, JSONValue)] = [
        (.issuer, .string(ReachWorld.issuer)), (.clientID, .string(ReachWorld.otherClient)),
    ]
    private static let secret: (Setting, JSONValue) = (.clientSecret, "hunter2")

    private func entries(
        _ values: [(Setting, JSONValue)], _ origin: SettingLayers.Origin
    ) -> [SettingLayers.Entry] {
        values.map { SettingLayers.Entry(setting: $0, value: $1, origin: origin) }
    }

    @Test("a variable's secret is for the client of the profile in use, not for that of a link's profile")
    func otherClientOfIssuer() throws {
        let world = try ReachWorld()
        defer { world.remove() }
        let variables = entries([Self.secret], .variable("V"))
        let link = world.link { $0.profile = "=" }
        func secret(_ profile: [(Setting, JSONValue)]) throws -> JSONValue? {
            try world.operand(variables + entries(profile, .profile("work"))).provider(link).settings.layers[
                .clientSecret]
        }
        #expect(try secret(Self.otherClient) == nil)
        #expect(try secret(Self.app) == "hunter2")
    }

    @Test(
        "a secret does not follow a token endpoint of an option to another origin, from a URL's link either")
    func endpointOfOption() throws {
        let world = try ReachWorld()
        defer { world.remove() }
        func secret(_ endpoint: String, _ more: [(Setting, JSONValue)] = []) throws -> JSONValue? {
            let options = entries([(.tokenEndpoint, .string(endpoint))], .option("--set"))
            let own = entries(Self.app + [Self.secret] + more, .profile("work"))
            return try world.operand(options + own).provider(world.link()).settings.layers[.clientSecret]
        }
        #expect(try secret("https://else.example/token") == nil)
        #expect(try secret("\(ReachWorld.issuer)/token") == "hunter2")
        #expect(
            try secret("https://else.example/t", [(.tokenEndpoint, "https://else.example/t")]) == "hunter2")
    }

    @Test("a certificate of another provider is not presented to a resource")
    func certificate() throws {
        let world = try ReachWorld()
        defer { world.remove() }
        let profile = entries(Self.app + [(.tlsClientCertificate, "/own")], .profile("work"))
        let origins: (Setting, JSONValue) = (.tlsClientCertificateFor, ["https://api.example"])
        let variables = entries([(.issuer, .string(ReachWorld.otherIssuer)), origins], .variable("V"))
        #expect(try world.operand(variables + profile).reach.settings.client.certificate == nil)
        let own = entries([origins], .variable("V"))
        #expect(try world.operand(own + profile).reach.settings.client.certificate?.path == "/own")
    }
}

/// What a layer names, beside what is in use.
enum Named: String, CaseIterable {
    case nothing = "-"
    case same = "="
    case other = "#"

    func entry(_ setting: Setting, _ same: String, _ other: String) -> (Setting, JSONValue)? {
        switch self {
        case .nothing: nil
        case .same: (setting, .string(same))
        case .other: (setting, .string(other))
        }
    }
}

/// A layer with a setting of each kind, and what it names.
struct ReachRow {
    let layer: SettingLayers.Layer
    let issuer: Named
    let endpoint: Named
    let client: Named
    /// The issuer and the client that a profile below the variables names.
    let below: Named

    static let all: [ReachRow] = [.profile, .variables, .options].flatMap {
        (layer: SettingLayers.Layer) -> [ReachRow] in
        (layer == .variables ? Named.allCases : [.nothing]).flatMap { below in
            Named.allCases.flatMap { issuer in
                Named.allCases.flatMap { endpoint in
                    Named.allCases.map { client in
                        ReachRow(
                            layer: layer, issuer: issuer, endpoint: endpoint, client: client, below: below)
                    }
                }
            }
        }
    }

    /// A setting of each kind: of the machine, of anyone, of what is asked, of a token's audience, of a server, of a token
    /// request, of a client.
    static let kinds: [(letter: String, setting: Setting, value: JSONValue)] = [
        ("m", .httpTimeout, 7), ("a", .tokenRequestFormat, "json"), ("q", .loginHint, "user"),
        ("t", .authorizationDetails, [["type": "k"]]), ("s", .extraAuthorizeParams, ["k": "v"]),
        ("r", .extraTokenParams, ["k": "v"]), ("c", .clientSecret, "hunter2"),
    ]

    /// The settings of the layer.
    var values: [(Setting, JSONValue)] {
        let names = [
            issuer.entry(.issuer, ReachWorld.issuer, ReachWorld.otherIssuer),
            endpoint.entry(
                .tokenEndpoint, "\(ReachWorld.issuer)/token", "\(ReachWorld.otherIssuer)/token"),
            client.entry(.clientID, ReachWorld.client, ReachWorld.otherClient),
        ]
        return names.compactMap { $0 } + ReachRow.kinds.map { ($0.setting, $0.value) }
    }

    /// All entries, strongest first.
    var entries: [SettingLayers.Entry] {
        let origin: SettingLayers.Origin =
            switch layer {
            case .profile: .profile("p")
            case .variables: .variable("V")
            case .options, .resource: .option("--set")
            }
        return values.map { SettingLayers.Entry(setting: $0, value: $1, origin: origin) } + belowEntries
    }

    private var belowEntries: [SettingLayers.Entry] {
        [
            below.entry(.issuer, ReachWorld.issuer, ReachWorld.otherIssuer),
            below.entry(.clientID, ReachWorld.client, ReachWorld.otherClient),
        ].compactMap { $0 }.map {
            SettingLayers.Entry(setting: $0.0, value: $0.1, origin: .profile("below"))
        }
    }

    /// The letters of the kinds whose values are among these entries.
    static func letters(_ entries: [SettingLayers.Entry]) -> String {
        kinds.map { kind in
            entries.contains { $0.setting == kind.setting && $0.value == kind.value } ? kind.letter : "."
        }.joined()
    }
}

/// A machine whose profiles name the server and client in use, others, or nothing.
struct ReachWorld {
    static let issuer = "https://op.example"
    static let otherIssuer = "https://other.example"
    static let client = "app"
    static let otherClient = "stranger"
    private static let resource = "https://api.example/mcp"

    private let home: URL
    private let context: CommandContext

    init() throws {
        home = FileManager.default.temporaryDirectory.appendingPathComponent(
            "oidc-reach-\(UInt32.random(in: 0 ... .max))")
        try FileManager.default.createDirectory(
            at: home, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        let file = home.appendingPathComponent("config.json")
        try #"""
        {"default_profile":"-","profiles":{"-":{},
        "=":{"issuer":"\#(Self.issuer)","client_id":"\#(Self.client)"},
        "#":{"issuer":"\#(Self.otherIssuer)","client_id":"\#(Self.otherClient)"}}}
        """#.write(to: file, atomically: true, encoding: .utf8)
        let common = CommonOptions()
        context = CommandContext(
            console: Console(common), environment: ["HOME": home.path, "OIDC_CONFIG": file.path],
            common: common)
    }

    func remove() { try? FileManager.default.removeItem(at: home) }

    /// A row of the table.
    func line(_ row: ReachRow) throws -> String {
        let name = "\(row.layer)".padding(toLength: 9, withPad: " ", startingAt: 0)
        let names = [row.issuer, row.endpoint, row.client, row.below].map(\.rawValue)
        let columns = [
            options(row).joined(separator: " "), try overridden(row),
            ReachRow.letters(ResourceOwnership(entries: row.entries).entries(for: Self.issuer)),
            try linked(row, link()), try linked(row, link { $0.isElsewhere = true }),
            try linked(row, link { $0.registration = "registered" }),
            try linked(row, link { $0.profile = "=" }),
            try linked(row, link { $0.profile = "=" }, [(.issuer, .string(Self.issuer))]),
            try linked(row, link(), [(.tokenEndpoint, "https://else.example/token")]), try own(row),
            try known(row), try secret(row),
            try fits(row),
        ]
        return "\(name) \(names.joined(separator: " ")) | \(columns.joined(separator: " | "))"
    }

    private func settings(
        _ row: ReachRow, _ options: [(Setting, JSONValue)] = [], profile: String? = nil
    ) -> Settings {
        let entries = options.map { SettingLayers.Entry(setting: $0, value: $1, origin: .option("--set")) }
        return context.settings(profile: profile, entries + row.entries)
    }

    private func operand(_ row: ReachRow, _ options: [(Setting, JSONValue)] = []) throws -> ResourceOperand {
        try operand(settings(row, options).layers.given)
    }

    func operand(_ entries: [SettingLayers.Entry]) throws -> ResourceOperand {
        ResourceOperand(
            try #require(WebURL(Self.resource)), context.settings(profile: nil, entries), context)
    }

    func link(
        _ grant: GrantType = .authorizationCode, _ change: (inout ResourceLink) -> Void = { _ in }
    ) -> ResourceLink {
        var link = ResourceLink(
            resource: Self.resource, issuer: Self.issuer, clientID: Self.client, grant: grant)
        change(&link)
        return link
    }

    /// SettingsOwnership, if an option names the issuer, the token endpoint, the client, or all of them.
    private func options(_ row: ReachRow) -> [String] {
        let issuer = (Setting.issuer, JSONValue.string(Self.issuer))
        let endpoint = (Setting.tokenEndpoint, JSONValue.string("\(Self.issuer)/token"))
        let client = (Setting.clientID, JSONValue.string(Self.client))
        return [[issuer], [endpoint], [client], [issuer, endpoint, client]].map {
            row.layer == .options ? "      " : ReachRow.letters(settings(row, $0).layers.entries)
        }
    }

    /// SettingsLoader, if -p names a profile of the issuer and client, and OIDC_PROFILE the one below.
    private func overridden(_ row: ReachRow) throws -> String {
        guard row.layer == .variables else { return "      " }
        var variables = [
            "OIDC_CONFIG": context.environment["OIDC_CONFIG"], "OIDC_PROFILE": row.below.rawValue,
        ]
        for (setting, value) in row.values { variables[setting.variable] = value.string ?? value.compact }
        var common = CommonOptions()
        common.profile = "="
        let loader = SettingsLoader(environment: Variables(variables.compactMapValues { $0 }), common: common)
        return ReachRow.letters(try loader.load().layers.entries)
    }

    /// The settings of a URL's link: of a client of the user's own, of a registered one, or of another profile's.
    private func linked(
        _ row: ReachRow, _ link: ResourceLink, _ options: [(Setting, JSONValue)] = []
    ) throws -> String {
        ReachRow.letters(try operand(row, options).provider(link).settings.layers.entries)
    }

    /// The user's own provider, for the grant id_jag.
    private func own(_ row: ReachRow) throws -> String {
        ReachRow.letters(
            OwnProvider.settings(try operand(row, [(.grant, .string(GrantType.idJAG.rawValue))])).layers
                .entries)
    }

    /// The catalog, for a session of the issuer and client.
    private func known(_ row: ReachRow) throws -> String {
        let key = SessionKey(provider: Self.issuer, clientID: Self.client)
        let current = ProviderContext(settings(row), context)
        return ReachRow.letters(try SessionCatalog(current).provider(of: key).settings.layers.entries)
    }

    /// What the client of a link presents to its server.
    private func secret(_ row: ReachRow) throws -> String {
        let provider = try operand(row).provider(link())
        var metadata = ProviderMetadata(issuer: Self.issuer, endpoints: [:], allowsInsecureHTTP: false)
        metadata.tokenEndpointAuthMethodsSupported = ["client_secret_post", "none"]
        do throws(OIDCError) {
            let client = try provider.client(metadata, provider.environment())
            return client.authentication.method == "none" ? "none" : "sent"
        } catch {
            return "asks"
        }
    }

    /// Whether a link fits: of a user's grant, of the client's own, and of id_jag.
    private func fits(_ row: ReachRow) throws -> String {
        try [GrantType.authorizationCode, .clientCredentials, .idJAG].map { grant in
            let operand = try operand(row, [(.grant, .string(grant.rawValue))])
            return operand.fits(link(grant), operand.ownership) ? "y" : "n"
        }.joined()
    }
}
