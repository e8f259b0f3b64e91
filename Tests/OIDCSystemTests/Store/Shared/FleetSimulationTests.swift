import Foundation
import OIDCCore
import Testing

/// `OIDC_SIMULATION=MACHINES,LIFETIMES` makes it larger, and `OIDC_SIMULATION_SEED=N` repeats a run.
@Suite("a fleet in a simulation, with losses, kills, stops, partitions and clocks that differ")
struct FleetSimulationTests {
    private static let variables = ProcessInfo.processInfo.environment
    private static let size = (variables["OIDC_SIMULATION"] ?? "30,12").split(separator: ",").compactMap {
        Int($0)
    }
    private static let seed = variables["OIDC_SIMULATION_SEED"].flatMap { UInt64($0) }

    @Test(
        "no refresh token is presented after it was replaced, and nothing older is written over anything newer"
    )
    func properties() throws {
        let fleet = try run(SimulatedFleet.Faults(), spread: true)
        #expect(fleet.tokens > fleet.rotations)
    }

    @Test("without faults, each expired token takes one refresh, and every process gets its token")
    func progress() throws {
        let fleet = try run(.none, spread: false)
        #expect(fleet.failures.isEmpty && fleet.kills == 0, "\(fleet.failures)")
        // That of the machines, and that of one process afterwards.
        #expect(fleet.rotations == 2 * Self.size[1])
    }

    @Test("the simulation notices an engine that extends leases which ended")
    func notices() throws {
        let faults = SimulatedFleet.Faults(stop: 20, extendsAnything: true)
        let found = try (1...30).contains { (seed: UInt64) in
            let fleet = try SimulatedFleet(seed: seed, machines: 20, faults: faults)
            for lifetime in 1...5 { fleet.start(lifetime: lifetime, spread: false) }
            fleet.time.run()
            return !fleet.violations.isEmpty
        }
        #expect(found)
    }

    private func run(_ faults: SimulatedFleet.Faults, spread: Bool) throws -> SimulatedFleet {
        let seed = Self.seed ?? .random(in: 0...UInt64.max)
        let isLarge = Self.variables["OIDC_SIMULATION"] != nil
        if isLarge { print("seed \(seed): \(Self.size[0]) machines, \(Self.size[1]) lifetimes") }
        let fleet = try SimulatedFleet(seed: seed, machines: Self.size[0], faults: faults)
        for lifetime in 1...Self.size[1] { fleet.start(lifetime: lifetime, spread: spread) }
        fleet.time.run()
        #expect(fleet.violations.isEmpty, "seed \(seed): \(fleet.violations.prefix(3))")
        let ended = fleet.tokens + fleet.kills + fleet.failures.values.reduce(0, +)
        #expect(ended == fleet.started, "seed \(seed)")
        if isLarge {
            print(
                "seed \(seed): \(fleet.tokens) tokens, \(fleet.rotations) refreshes, \(fleet.signIns) sign-ins, "
                    + "\(fleet.kills) killed, failures \(fleet.failures), \(fleet.time.threads) threads")
        }
        return fleet
    }
}
