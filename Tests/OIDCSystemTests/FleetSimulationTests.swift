import Foundation
import OIDCCore
import Testing

@testable import OIDCSystem

/// `OIDC_SIMULATION=MACHINES,LIFETIMES` makes it larger, and `OIDC_SIMULATION_SEED=N` repeats a run.
@Suite("a fleet in a simulation, with losses, kills, stops and clocks that differ")
struct FleetSimulationTests {
    private static let variables = ProcessInfo.processInfo.environment
    private static let size = (variables["OIDC_SIMULATION"] ?? "30,12").split(separator: ",").compactMap {
        Int64($0)
    }
    private static let seeds: [UInt64] =
        variables["OIDC_SIMULATION_SEED"].flatMap { UInt64($0) }.map { [$0] } ?? [.random(in: 0...UInt64.max)]

    @Test(
        "no refresh token is presented after it was replaced, and nothing older is written over anything newer"
    )
    func properties() throws {
        for seed in Self.seeds {
            let fleet = try SimulatedFleet(seed: seed, faults: SimulatedFleet.Faults())
            try run(fleet, seed)
            #expect(fleet.tokens > fleet.rotations, "seed \(seed)")
        }
    }

    @Test("without faults, each lifetime takes one refresh, and every process gets its token")
    func progress() throws {
        for seed in Self.seeds {
            let none = SimulatedFleet.Faults(loss: .max, kill: .max, stop: .max, skew: 0)
            let fleet = try SimulatedFleet(seed: seed, faults: none)
            try run(fleet, seed)
            #expect(fleet.failures.isEmpty && fleet.kills == 0, "seed \(seed): \(fleet.failures)")
            #expect(fleet.rotations == Int(Self.size[1]), "seed \(seed): \(fleet.rotations)")
        }
    }

    @Test("the simulation notices an engine that extends leases which ended")
    func notices() throws {
        let faults = SimulatedFleet.Faults(stop: 20, extendsAnything: true)
        let found = try [1, 2, 3].contains { (seed: UInt64) in
            let fleet = try SimulatedFleet(seed: seed, faults: faults)
            start(fleet, machines: 20, lifetimes: 5)
            return !fleet.violations.isEmpty
        }
        #expect(found)
    }

    /// In each lifetime, all machines find the token expired within two seconds.
    private func start(_ fleet: SimulatedFleet, machines: Int64, lifetimes: Int64) {
        for lifetime in 1...lifetimes {
            for _ in 0..<machines {
                fleet.start(at: lifetime * (fleet.lifetime + 400) * 1_000 + fleet.time.below(2_000))
            }
        }
        fleet.time.run()
    }

    private func run(_ fleet: SimulatedFleet, _ seed: UInt64) throws {
        start(fleet, machines: Self.size[0], lifetimes: Self.size[1])
        #expect(fleet.violations.isEmpty, "seed \(seed): \(fleet.violations.prefix(3))")
        let ended = fleet.tokens + fleet.kills + fleet.failures.values.reduce(0, +)
        #expect(ended == Int(Self.size[0] * Self.size[1]), "seed \(seed)")
        if Self.variables["OIDC_SIMULATION"] != nil {
            print(
                "seed \(seed): \(fleet.tokens) tokens, \(fleet.rotations) refreshes, \(fleet.signIns) sign-ins, "
                    + "\(fleet.kills) killed, failures \(fleet.failures)")
        }
    }
}
