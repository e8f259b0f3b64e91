import OIDCCore
import OIDCSessions
import Posix

/// The profiles of the configuration file and their sessions. Variables are ignored.
struct ProfileSessions {
    struct Profile {
        let name: String
        let isDefault: Bool
        /// The profile's settings; nil if they are not valid.
        let settings: Settings?
        let problem: OIDCError?
        let key: SessionKey?
        let store: String

        /// The provider as lists show it: its issuer, or else its usual name or host. A resource's profile shows
        /// the resource.
        var providerName: String {
            guard let settings else { return "-" }
            if let issuer = settings.provider.issuer { return issuer }
            if let preset = Preset.matching(settings)?.preset { return preset.title }
            if let endpoint = settings.provider.endpoint(.token) {
                return WebURL(endpoint)?.hostAndPort ?? "-"
            }
            return settings.token.resources.first ?? "-"
        }

        /// Returns whether both profiles use one session: signing in or out with one does so with the other.
        fileprivate func shares(with other: Profile) -> Bool {
            guard let key, name != other.name else { return false }
            return key == other.key && store == other.store
        }
    }

    let profiles: [Profile]

    /// Returns the profiles of the file but one.
    static func profiles(besides name: String?, _ context: CommandContext) throws(OIDCError) -> [Profile] {
        ProfileSessions(try context.settingsLoader.file(), context).profiles.filter { $0.name != name }
    }

    private let context: CommandContext

    init(_ file: ConfigurationFile?, _ context: CommandContext) {
        self.context = context
        guard let file else {
            profiles = []
            return
        }
        let chosen = try? file.profile(named: nil)?.name
        profiles = file.profiles.map { profile in
            do throws(OIDCError) {
                let settings = try file.settings(of: profile.name, home: context.environment["HOME"])
                try settings.check()
                let provider = ProfileSessions.provider(settings, context)
                return Profile(
                    name: profile.name, isDefault: profile.name == chosen, settings: settings, problem: nil,
                    key: try? provider.sessionKey(), store: settings.store)
            } catch {
                return Profile(
                    name: profile.name, isDefault: profile.name == chosen, settings: nil, problem: error,
                    key: nil, store: "")
            }
        }
    }

    /// Returns the provider of a profile; for one that names only a resource, that of the last sign-in to it.
    static func provider(_ settings: Settings, _ context: CommandContext) -> ProviderContext {
        let linked = context.ownResource(settings).flatMap { url in
            (try? ResourceOperand(url, settings, context).linked()) ?? nil
        }
        return linked ?? ProviderContext(settings, context)
    }

    /// Returns the names of the other profiles that share a profile's session.
    func sharing(with profile: Profile) -> [String] {
        profiles.filter { profile.shares(with: $0) }.map(\.name)
    }

    /// Returns the report of a profile's session; nil if there is none, or the error.
    func report(_ profile: Profile) -> Result<SessionReport?, OIDCError> {
        guard let settings = profile.settings, let key = profile.key else { return .success(nil) }
        return Result { () throws(OIDCError) in
            let store = try ProviderContext(settings, context).store()
            return try store.load(key).map {
                SessionReport(
                    session: $0, profile: profile.name, location: store.location(of: key), now: context.now)
            }
        }
    }

    /// Returns whether a profile is signed in. A session that its store has lost, or hides, counts. Throws if the session
    /// cannot be read, or the profile's settings are not valid.
    func isSignedIn(_ profile: Profile) throws(OIDCError) -> Bool {
        if let problem = profile.problem { throw problem }
        guard let settings = profile.settings, let key = profile.key else { return false }
        let store = try ProviderContext(settings, context).store()
        return try store.load(key) != nil || store.hides(key)
    }

    /// Returns the only profile that is signed in, or has a session of a URL; nil if none does. Throws if several do, or if
    /// a session that may be the one that is meant cannot be read; for a URL, only if no other was found.
    func only(
        at url: WebURL? = nil, mayBeMeant: ((Profile) -> Bool)? = nil,
        where isSignedIn: (Profile) throws(OIDCError) -> Bool
    ) throws(OIDCError) -> String? {
        var names: [String] = []
        var unread: (profile: Profile, error: OIDCError)?
        // A server that is away is asked once, not once for each profile.
        var outages: [String: OIDCError] = [:]
        for profile in profiles {
            do throws(OIDCError) {
                if let outage = outages[profile.store] { throw outage }
                if try isSignedIn(profile) { names.append(profile.name) }
            } catch {
                guard error.kind != .interrupted else { throw error }
                if error.kind == .unreachable { outages[profile.store] = error }
                if unread == nil, mayBeMeant?(profile) ?? true { unread = (profile, error) }
            }
        }
        let ways = names.prefix(5).map { Hint.options(["-p", $0]) }
        guard names.count < 2 else {
            let place = url.map { " to \(DisplayText.clean($0.withoutQuery))" } ?? ""
            throw .usage(
                "several profiles are signed in\(place), and none is the default one: "
                    + DisplayText.clean(names.joined(separator: ", "), limit: 200),
                hint: .alternatives(ways))
        }
        guard let (profile, error) = unread, url == nil || names.isEmpty else { return names.first }
        let name = DisplayText.clean(profile.name, limit: 60)
        var failure = error
        failure.message =
            profile.problem == nil
            ? "the session of profile \(name) cannot be read: \(error.message)"
            : "profile \(name) is not valid: \(error.message)"
        let all = DisplayText.clean(profiles.map(\.name).joined(separator: ", "), limit: 200)
        // The hint of a URL's session names it already.
        let hint =
            url == nil ? error.hint?.aboutOther(profile: ["-p", profile.name], file: nil) : error.hint
        failure.hint = .alternatives(
            [(url == nil ? ways.first : nil) ?? "choose a profile with -p (\(all))"]
                + [hint].compactMap { $0 })
        throw failure
    }

    /// Returns who is signed in, with which account, and the other profiles that share the session.
    func state(_ profile: Profile) -> String {
        if let problem = profile.problem { return "not valid: \(problem.message)" }
        let state =
            switch report(profile) {
            case .failure(let error): "cannot be read: \(error.message)"
            case .success(nil): "no"
            case .success(let report?):
                report.isUsable ? report.who : "\(report.standing.rawValue) (\(report.who))"
            }
        let account = profile.settings?.token.account.map { ", account \($0)" } ?? ""
        let others = sharing(with: profile)
        return state + account
            + (others.isEmpty ? "" : ", same session as \(others.joined(separator: ", "))")
    }

    /// Returns the names of the other profiles that share the session of the named or default profile.
    static func sharing(with name: String?, _ context: CommandContext) -> [String] {
        guard let file = try? context.settingsLoader.file() else { return [] }
        let sessions = ProfileSessions(file, context)
        let profile = sessions.profiles.first { name == nil ? $0.isDefault : $0.name == name }
        return profile.map { sessions.sharing(with: $0) } ?? []
    }

    /// Reports that a profile that was just written shares its session with others, and how to keep them
    /// apart. Leaves out those that shared it `before`.
    static func noteSharing(of name: String, before: [String] = [], _ context: CommandContext) {
        let others = sharing(with: name, context).filter { !before.contains($0) }
            .map { DisplayText.clean($0, limit: 60) }
        guard let first = others.first else { return }
        let account = context.common.completing(.run("config set", "-p", name, "account=\(name)"))
        context.console.note(
            "note: profile \(DisplayText.clean(name)) shares its session with \(others.joined(separator: ", ")): "
                + "it has the same issuer and client as \(first). To keep them apart: "
                + account)
    }
}
