import CurlHTTP
import OIDCCore
import OIDCCrypto
import OIDCAccount
import Posix

/// One call to a protected resource. The response body is printed to stdout, whatever its status.
struct ResourceCall {
    let method: HTTPMethod
    let url: WebURL
    let headers: HTTPHeaders
    let body: RequestData
    let includesHead: Bool
    let isJSON: Bool

    private static let redirectLimit = 3
    /// The size limit of a response that is skipped because another attempt follows.
    private static let skippedLimit = 1 << 20

    /// The rules about where the token may be sent, and how a response is handled.
    struct Rules {
        /// Whether the token may be sent to the URL of a redirect on the same origin.
        var covers: (WebURL) -> Bool = { _ in true }
        /// A callback for each response, before its body is read.
        var onAnswer: (Answer) -> Void = { _ in }
        /// Whether another call follows an answer, whose body is then not printed.
        var isHeld: (Answer) -> Bool = { _ in false }
    }

    /// A response without its body.
    struct Answer {
        enum Step {
            case shown
            case held
            case again(RetryRule.Demand)
            case redirect(WebURL)
        }

        var head = HTTPResponse(status: 0)
        var step = Step.shown
        /// The token that was sent; nil for a call without one.
        let delivery: SessionTokens.Delivery?
        /// The URL that answered.
        var url: WebURL

        var isHeld: Bool { if case .held = step { true } else { false } }
    }

    /// Calls the resource with a token.
    func run(_ request: ProtectedRequest, _ rules: Rules, _ transport: CurlTransport) throws(OIDCError)
        -> Answer
    {
        try request.send { attempt throws(OIDCError) -> ProtectedRequest.Outcome<Answer> in
            let answer = try followed(attempt, rules, transport)
            if case .again(let next) = answer.step { return .again(next, after: answer.head) }
            return .done(answer)
        }
    }

    /// Calls the resource without a token, to get its challenge.
    func runWithoutToken(_ rules: Rules, _ transport: CurlTransport) throws(OIDCError) -> Answer {
        try followed(nil, rules, transport)
    }

    private func followed(
        _ attempt: ProtectedRequest.Attempt?, _ rules: Rules, _ transport: CurlTransport
    ) throws(OIDCError) -> Answer {
        var target = url
        var redirects = 0
        while true {
            let answer = try exchange(attempt, at: target, redirects: redirects, rules, transport)
            guard case .redirect(let next) = answer.step else { return answer }
            target = next
            redirects += 1
        }
    }

    private final class Reading {
        var answer: Answer
        var skipped = 0
        /// The time after which a skipped body is no longer read.
        var skipEnd = MonotonicTime.now()

        init(_ answer: Answer) { self.answer = answer }

        var isShown: Bool { if case .shown = answer.step { true } else { false } }
    }

    private func exchange(
        _ attempt: ProtectedRequest.Attempt?, at url: WebURL, redirects: Int, _ rules: Rules,
        _ transport: CurlTransport
    ) throws(OIDCError) -> Answer {
        var request = HTTPRequest(method, url, headers: headers)
        if !body.isEmpty, headers["Content-Type"] == nil { request.headers["Content-Type"] = body.mediaType }
        try attempt?.authorize(&request)
        let output = ResponseOutput(includesHead: includesHead, isJSON: isJSON)
        let reading = Reading(Answer(delivery: attempt?.delivery, url: url))
        do {
            try transport.stream(
                request, body: try body.opened(),
                onResponse: { status, fields throws(OIDCError) in
                    let head = HTTPResponse(status: status, headers: fields, receivedAt: Clock.now())
                    reading.answer.head = head
                    rules.onAnswer(reading.answer)
                    reading.answer.step = step(after: reading.answer, attempt, redirects: redirects, rules)
                    if reading.isShown { try output.begin(head) }
                    reading.skipEnd = MonotonicTime.now().adding(
                        milliseconds: transport.configuration.httpTimeout.milliseconds)
                },
                onBody: { bytes throws(OIDCError) in
                    guard !reading.isShown else { return try output.take(bytes) }
                    reading.skipped += bytes.count
                    guard reading.skipped <= ResourceCall.skippedLimit, .now() < reading.skipEnd else {
                        throw OIDCError(
                            .refused, "resource: the response is too large or too slow", stage: .resource)
                    }
                })
        } catch {
            // Errors in a skipped body do not matter.
            guard !reading.isShown, error.kind != .interrupted else { throw error }
        }
        if reading.isShown { try output.end() }
        return reading.answer
    }

    /// Returns the next step after a response. Redirects are followed only for GET and HEAD without a body,
    /// and within the origin and the resource.
    private func step(
        after answer: Answer, _ attempt: ProtectedRequest.Attempt?, redirects: Int, _ rules: Rules
    ) -> Answer.Step {
        let (head, url) = (answer.head, answer.url)
        if let next = attempt?.next(after: head) { return .again(next) }
        if rules.isHeld(answer) { return .held }
        guard [301, 302, 303, 307, 308].contains(head.status),
            method == .get || method == HTTPMethod("HEAD"), body.isEmpty,
            redirects < ResourceCall.redirectLimit,
            let target = head.headers["Location"].flatMap({ url.resolving($0) }),
            target.origin == url.origin, rules.covers(target)
        else { return .shown }
        return .redirect(target)
    }
}
