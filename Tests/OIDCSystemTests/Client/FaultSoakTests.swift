import DemoProvider
import Foundation
import OIDCCore
import OIDCCrypto
import TestSupport
import Testing

/// Each fault once, in the middle of an otherwise healthy stretch of simulated time: with `OIDC_SOAK_MINUTES` every
/// fault and that many minutes; else five minutes, and a twelfth of the faults, which the seed chooses.
/// `OIDC_SOAK_ROUNDS` (1) repeats all of them, `OIDC_SOAK_SEED` repeats one run.
@Suite("a soak test of faults: a session is lost only by invalid_grant or the user")
struct FaultSoakTests {
    private static func number(_ name: String) -> UInt64? {
        ProcessInfo.processInfo.environment[name].flatMap { UInt64($0) }
    }

    /// The same for every short run, so the gate does not depend on chance.
    static let seed =
        number("OIDC_SOAK_SEED") ?? (number("OIDC_SOAK_MINUTES") == nil ? 1 : .random(in: 0 ... .max))
    static let minutes = number("OIDC_SOAK_MINUTES").map { Int64(clamping: $0) } ?? 5
    static let rounds = number("OIDC_SOAK_ROUNDS") ?? 1

    /// What goes wrong between two healthy periods.
    enum Trouble: Hashable, Sendable {
        case provider(Fault)
        /// The request is not sent, or is lost before the provider acts on it.
        case unreachable(Endpoint)
        case timeout(Endpoint)
        case status(Endpoint, Int, retryAfter: Int)
        /// Seconds by which this machine's clock is wrong.
        case clock(Int64)
        case killedBeforeRequest
        case killedAfterSuccessor

        /// Whether the provider has used up the refresh token and returned none that can be read.
        var losesSuccessor: Bool {
            switch self {
            case .provider(.refuses(.token, "invalid_grant")): true
            case .provider(.tokenResponse(let fault)), .provider(.refreshResponse(let fault)):
                [.refreshTokenMissing, .refreshTokenEmpty, .refreshTokenNumber, .errorWithSuccess]
                    .contains(fault)
            case .provider(.answer(.token, let fault)): [.truncated, .invalidUTF8].contains(fault)
            default: false
            }
        }
    }

    static let troubles: [Trouble] =
        number("OIDC_SOAK_MINUTES") != nil
        ? allTroubles
        : allTroubles.enumerated().filter { UInt64($0.offset) % 12 == seed % 12 }.map(\.element)

    private static let allTroubles: [Trouble] = {
        let endpoints: [Endpoint] = [.token, .jwks, .userinfo, .discovery]
        // A narrower scope is not a fault: it is what the provider grants until the next refresh.
        let grants: Set<Fault> = [.tokenResponse(.scopeNarrower), .refreshResponse(.scopeNarrower)]
        var troubles = Fault.all(answering: endpoints).filter { !grants.contains($0) }.map {
            Trouble.provider($0)
        }
        for code in [
            "invalid_grant", "invalid_client", "invalid_request", "invalid_scope", "unauthorized_client",
            "slow_down", "server_error", "temporarily_unavailable",
        ] {
            troubles.append(.provider(.refuses(.token, code)))
        }
        for endpoint in endpoints {
            troubles += [.unreachable(endpoint), .timeout(endpoint)]
            for status in [429, 503] { troubles.append(.status(endpoint, status, retryAfter: 90)) }
        }
        troubles += [-7_200, -600, 600, 7_200].map { .clock($0) }
        return troubles + [.killedBeforeRequest, .killedAfterSuccessor]
    }()

    @Test("each fault once, between healthy periods", arguments: troubles)
    func soak(_ trouble: Trouble) throws {
        for round in 0..<Self.rounds {
            let number = UInt64(Self.allTroubles.firstIndex(of: trouble) ?? 0)
            let seed = Self.seed &+ round &* 1_000 &+ number
            var world = try SoakWorld(trouble, SplitMix(seed: seed))
            let place = "OIDC_SOAK_SEED=\(Self.seed), round \(round), \(trouble)"
            try world.stayHealthy(for: Self.minutes * 30, place)
            world.suffer()
            if trouble.losesSuccessor {
                // The provider has used up the token and returned no other: it may end the session, and says so.
                if try world.isEnded() { try world.signIn() }
            } else {
                #expect(try world.refreshToken != nil, "\(place)")
            }
            try world.stayHealthy(for: Self.minutes * 30, place)
        }
    }
}

/// A small generator that can be repeated.
struct SplitMix: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var word = state
        word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
        word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
        return word ^ (word >> 31)
    }
}
