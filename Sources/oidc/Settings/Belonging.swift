import OIDCCore

/// The server and client that a setting was configured for, as its layer names them, or else the next weaker one.
/// Options are for the server and client of their command, whatever weaker layers name.
struct Belonging: Sendable {
    /// An endpoint that the client authenticates at, or the URL of the metadata that names them.
    struct Endpoint: Sendable {
        let setting: Setting
        let url: String

        fileprivate static let settings: [Setting] = [
            .metadataURL, .tokenEndpoint, .refreshEndpoint, .deviceAuthorizationEndpoint,
            .pushedAuthorizationRequestEndpoint, .revocationEndpoint, .introspectionEndpoint,
        ]
    }

    private(set) var issuer: String?
    private(set) var endpoints: [Endpoint] = []
    private(set) var clientID: String?
    /// Whether the layer that names the server names only endpoints, so its issuer is not known.
    private(set) var isWithoutIssuer = false
    /// Whether the settings are only for exactly this issuer and client, as no layer in use names them.
    var isExact = false

    /// Creates the belonging of a layer's settings.
    init(of layer: SettingLayers.Layer, in entries: [SettingLayers.Entry]) {
        let layers: [SettingLayers.Layer] =
            switch layer {
            case .profile: [.profile]
            case .variables: [.profile, .variables]
            case .options, .resource: []
            }
        for layer in layers { override(by: entries.filter { $0.origin.layer == layer }) }
        guard layer == .options else { return }
        issuer = entries.first { $0.setting == .issuer && $0.origin.layer == .options }?.value.string
    }

    /// Creates the belonging of settings that are for a profile that is not in use.
    init(ofUnused profile: JSONObject) {
        override(
            by: ([.issuer, .clientID] + Endpoint.settings).compactMap { setting in
                profile[setting.name].flatMap(setting.kind.normalized).map {
                    SettingLayers.Entry(setting: setting, value: $0, origin: .profile(""))
                }
            })
        isExact = true
    }

    private mutating func override(by entries: [SettingLayers.Entry]) {
        func text(_ setting: Setting) -> String? { entries.first { $0.setting == setting }?.value.string }
        if let issuer = text(.issuer) {
            if !isServer(issuer) { (endpoints, clientID) = ([], nil) }
            self.issuer = issuer
            isWithoutIssuer = false
        } else if entries.contains(where: { ProviderEndpoint(rawValue: $0.setting.name) != nil }) {
            isWithoutIssuer = true
            // Without an issuer, a token endpoint elsewhere is another server's.
            if issuer == nil, let token = text(.tokenEndpoint), !isKnown(token) {
                (endpoints, clientID) = ([], nil)
            }
        }
        for setting in Endpoint.settings {
            guard let url = text(setting) else { continue }
            endpoints.removeAll { $0.setting == setting }
            endpoints.append(Endpoint(setting: setting, url: url))
        }
        clientID = text(.clientID) ?? clientID
    }

    var namesServer: Bool { issuer != nil || isWithoutIssuer }
    fileprivate var namesNothing: Bool { issuer == nil && endpoints.isEmpty && clientID == nil }

    private func isKnown(_ url: String) -> Bool {
        let origins = ([issuer] + endpoints.map(\.url)).compactMap { $0.flatMap(WebURL.ofIssuer)?.origin }
        return origins.isEmpty || WebURL(url).map { origins.contains($0.origin) } == true
    }

    /// Returns whether an issuer is that of this server. If only endpoints are known, their origins decide.
    private func isServer(_ other: String) -> Bool {
        issuer.map { ExactText.isSame($0, other) } ?? isKnown(other)
    }

    func isServer(_ destination: Destination) -> Bool {
        if isExact, !Belonging.isSame(issuer, destination.issuer) { return false }
        guard let other = destination.issuer else {
            // Without an issuer, the token endpoint identifies the server.
            return destination.tokenEndpoint.map(isKnown) ?? true
        }
        // Endpoints alone do not show that they belong to the issuer that a resource names.
        return !(destination.isFound && isWithoutIssuer) && isServer(other)
    }

    /// Returns whether each endpoint that gets secrets belongs to this server: it was set for the server, or has
    /// the origin of its issuer or of one of its endpoints.
    fileprivate func ownsEndpoints(_ destination: Destination) -> Bool {
        destination.endpoints.allSatisfy { endpoint in
            let own = endpoints.first { $0.setting == endpoint.setting }
            return own.map { ExactText.isSame($0.url, endpoint.url) } == true || isKnown(endpoint.url)
        }
    }

    fileprivate func isClient(_ destination: Destination) -> Bool {
        guard let other = destination.clientID else { return true }
        return clientID.map { ExactText.isSame($0, other) } ?? !isExact
    }

    private static func isSame(_ one: String?, _ other: String?) -> Bool {
        guard let one, let other else { return one == nil && other == nil }
        return ExactText.isSame(one, other)
    }
}

/// A server and client that settings are about to be used for.
struct Destination {
    private(set) var issuer: String?
    private(set) var tokenEndpoint: String?
    /// The endpoints that the settings name.
    private(set) var endpoints: [Belonging.Endpoint] = []
    private(set) var clientID: String?
    /// Whether a resource names the server, not the settings.
    private(set) var isFound = false
    /// Whether the client is not one of the settings: it was registered automatically, or a document describes it.
    private(set) var isRegistered = false
    /// Whether options name the server.
    private(set) var isAnOption = false
    /// The layers whose origins do not include the resource that the token is for.
    private(set) var foreignLayers: Set<SettingLayers.Layer> = []
    /// That resource's origin.
    private(set) var foreignOrigin: String?

    /// Creates the destination that the strongest layers name. Returns nil if there is only one layer, and
    /// nothing to decide. This keeps reading a fresh token fast.
    init?(of entries: [SettingLayers.Entry]) {
        guard let first = entries.first, entries.contains(where: { $0.origin.layer != first.origin.layer })
        else { return nil }
        issuer = entries.first { $0.setting == .issuer }?.value.string
        isAnOption = entries.contains {
            $0.origin.layer == .options && [.issuer, .tokenEndpoint].contains($0.setting)
        }
        tokenEndpoint = entries.first { $0.setting == .tokenEndpoint && $0.mayReach(self) }?.value.string
        endpoints = Belonging.Endpoint.settings.compactMap { setting in
            entries.first { $0.setting == setting && $0.mayReach(self) }?.value.string.map {
                Belonging.Endpoint(setting: setting, url: $0)
            }
        }
        clientID = entries.first { $0.setting == .clientID && $0.mayReach(self) }?.value.string
    }

    /// Creates the destination of settings that an earlier command has chosen.
    init(chosen entries: [SettingLayers.Entry]) {
        func entry(_ setting: Setting) -> SettingLayers.Entry? { entries.first { $0.setting == setting } }
        issuer = entry(.issuer)?.value.string
        tokenEndpoint = entry(.tokenEndpoint)?.value.string
        endpoints = Belonging.Endpoint.settings.compactMap { setting in
            entry(setting)?.value.string.map { Belonging.Endpoint(setting: setting, url: $0) }
        }
        clientID = entry(.clientID)?.value.string
        isFound = entry(.issuer)?.origin.layer == .resource
        isRegistered = entry(.clientID)?.origin.layer == .resource
    }

    /// Creates the destination of a server that a resource names, before its client is known or for a registered
    /// one.
    init(
        found issuer: String, isRegistered: Bool = false, foreignLayers: Set<SettingLayers.Layer> = [],
        foreignOrigin: String? = nil
    ) {
        self.foreignOrigin = foreignOrigin
        self.issuer = issuer
        self.isRegistered = isRegistered
        self.foreignLayers = foreignLayers
        isFound = true
    }

    /// Returns whether a value is the resource itself, or another one on its origin, as the audience of a token.
    fileprivate func isAudience(_ value: JSONValue) -> Bool {
        guard let foreignOrigin else { return false }
        return value.string.flatMap { WebURL($0) }?.origin == foreignOrigin
    }
}

extension SettingLayers.Entry {
    /// Returns whether the value may be used for a server and client: the rule about where secrets may go.
    func mayReach(_ destination: Destination) -> Bool {
        guard let belonging else { return true }
        let isServer = belonging.isServer(destination)
        let isOption = origin.layer == .options
        switch setting.reach {
        case .machine: return true
        case .audience:
            let isOfResource = destination.isAudience(value)
            let isOfOther = origin.layer == .profile && belonging.namesServer && !isServer
            return (mayChooseAudience(destination) && !isOfOther || isOfResource)
                && (isServer || !destination.isFound)
        case .asked:
            if origin.layer == .profile {
                // A profile with a resource and no provider is that of a sign-in to the resource's URL, unless it was
                // written by hand for a server that variables name.
                if setting == .resource, belonging.namesNothing, destination.isAnOption || isOfSignIn {
                    return false
                }
                if belonging.namesServer, !isServer { return false }
            }
            return isServer || !destination.isFound
        case .anyone:
            guard origin.layer == .profile, Setting.redirectURLs.contains(setting) else {
                return isServer || !destination.isFound
            }
            return isServer && (belonging.isClient(destination) || !isRedirectOfIssuer)
        case .tokens:
            // Without an issuer, the endpoints identify the server.
            return isServer && (isOption || destination.issuer != nil || belonging.ownsEndpoints(destination))
        case .server:
            // A client ID is not a secret: one in a variable is also used for an issuer in an option.
            let isOther = setting == .clientID && origin.layer == .variables
            return isServer || isOther && !destination.isFound
        case .request: return isServer && (isOption || belonging.ownsEndpoints(destination))
        case .client:
            return isServer && !destination.isRegistered
                && (isOption || belonging.ownsEndpoints(destination) && belonging.isClient(destination))
        }
    }
}

extension SettingLayers.Entry {
    /// The parameters that say what a token is for.
    private static let audienceParameters = ["audience", "authorization_details", "resource", "scope"]

    /// Returns whether the value may say what the destination's token is for. That of a stored session was for another one.
    private func mayChooseAudience(_ destination: Destination) -> Bool {
        !destination.foreignLayers.contains(origin.layer)
            && (destination.foreignLayers.isEmpty || origin != .session)
    }

    /// Returns the entry with the part of its value that may be used for a server and client; nil if there is none.
    func reaching(_ destination: Destination) -> SettingLayers.Entry? {
        guard mayReach(destination) else { return nil }
        guard [.extraAuthorizeParams, .extraTokenParams].contains(setting), !mayChooseAudience(destination)
        else { return self }
        let names = SettingLayers.Entry.audienceParameters.filter { name in
            name != "audience" || value[name].map(destination.isAudience) != true
        }
        return without(members: names)
    }

    /// Whether the value is a redirect URL that a registration chose for its server, so no other client has it.
    private var isRedirectOfIssuer: Bool {
        guard let issuer = belonging?.issuer, let url = value.string else { return false }
        return (try? MixUpDefense.isOwn(url, of: issuer)) ?? false
    }
}

extension [SettingLayers.Entry] {
    /// The entries with their belonging. One that was known before is kept, as the layers may have changed
    /// since; options always belong to the current command.
    var stamped: [SettingLayers.Entry] {
        let options = Belonging(of: .options, in: self)
        var others: [SettingLayers.Layer: Belonging] = [:]
        return map { entry in
            var entry = entry
            switch entry.origin.layer {
            case .resource: break
            case .options: entry.belonging = options
            case .profile, .variables:
                guard entry.belonging == nil else { break }
                let layer = entry.origin.layer
                let belonging = others[layer] ?? Belonging(of: layer, in: self)
                others[layer] = belonging
                entry.belonging = belonging
            }
            return entry
        }
    }
}
