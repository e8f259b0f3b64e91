import CLibcurl
import OIDCCore

/// A setter of options on a handle, which remembers the first one that this libcurl refused.
struct CurlOptions {
    let easy: OpaquePointer
    private(set) var rejected: Int?

    init(_ easy: OpaquePointer) {
        self.easy = easy
    }

    mutating func set(_ option: Int, _ number: Int) {
        note(option, oidc_curl_set_long(easy, Int32(option), number))
    }

    mutating func set(_ option: Int, offset: Int64) {
        note(option, oidc_curl_set_offset(easy, Int32(option), offset))
    }

    mutating func set(_ option: Int, _ text: String?) {
        note(option, oidc_curl_set_string(easy, Int32(option), text))
    }

    mutating func set(_ option: Int, pointer: UnsafeRawPointer?) {
        note(option, oidc_curl_set_pointer(easy, Int32(option), pointer))
    }

    mutating func set(_ option: Int, function: oidc_curl_data_function) {
        note(option, oidc_curl_set_data_function(easy, Int32(option), function))
    }

    /// Sets the function that is called, with `context`, while the transfer runs.
    mutating func set(_ context: AnyObject, progress: @escaping oidc_curl_progress_function) {
        let context = Unmanaged.passUnretained(context).toOpaque()
        note(OIDC_CURLOPT_XFERINFOFUNCTION, oidc_curl_set_progress(easy, progress, context))
    }

    /// Sets the function that gets, with `context`, what libcurl receives.
    mutating func set(_ context: AnyObject, debug: @escaping oidc_curl_debug_function) {
        let context = Unmanaged.passUnretained(context).toOpaque()
        note(OIDC_CURLOPT_DEBUGFUNCTION, oidc_curl_set_debug(easy, debug, context))
    }

    /// Sets an option that may be ignored, as older versions of libcurl lack it.
    func offer(_ option: Int, _ number: Int) {
        _ = oidc_curl_set_long(easy, Int32(option), number)
    }

    func offer(_ option: Int, _ text: String?) {
        _ = oidc_curl_set_string(easy, Int32(option), text)
    }

    /// Sets the callbacks, which get `context`. Returns whether `beforeRequest` will be called, which older
    /// versions of libcurl do not.
    @discardableResult
    mutating func setCallbacks(
        _ context: AnyObject, header: @escaping oidc_curl_data_function,
        body: @escaping oidc_curl_data_function, read: @escaping oidc_curl_data_function,
        beforeRequest: @escaping oidc_curl_before_request_function
    ) -> Bool {
        let context = UnsafeRawPointer(Unmanaged.passUnretained(context).toOpaque())
        set(OIDC_CURLOPT_HEADERFUNCTION, function: header)
        set(OIDC_CURLOPT_HEADERDATA, pointer: context)
        set(OIDC_CURLOPT_WRITEFUNCTION, function: body)
        set(OIDC_CURLOPT_WRITEDATA, pointer: context)
        set(OIDC_CURLOPT_READFUNCTION, function: read)
        set(OIDC_CURLOPT_READDATA, pointer: context)
        guard CurlCode(oidc_curl_set_before_request(easy, beforeRequest)) == .ok else { return false }
        set(OIDC_CURLOPT_PREREQDATA, pointer: context)
        return true
    }

    private mutating func note(_ option: Int, _ code: Int32) {
        if CurlCode(code) != .ok, rejected == nil { rejected = option }
    }
}

/// A `curl_slist`. libcurl stores only the pointer, so this object owns the list and frees it.
final class CurlList {
    private let library: UnsafePointer<oidc_curl_library>
    private(set) var head: UnsafeMutablePointer<oidc_curl_list>?

    init(_ library: UnsafePointer<oidc_curl_library>) {
        self.library = library
    }

    deinit {
        library.pointee.slist_free_all(head)
    }

    func append(_ text: String) {
        if let longer = library.pointee.slist_append(head, text) { head = longer }
    }

    /// Adds a header field; libcurl writes one without a value with a semicolon.
    func append(_ field: HTTPHeaders.Field) {
        append(field.value.isEmpty ? "\(field.name);" : "\(field.name): \(field.value)")
    }

    /// Adds a header field whose value is Latin-1, with unchanged bytes.
    func append(latin1 field: HTTPHeaders.Field) {
        guard !field.value.utf8.allSatisfy({ $0 < 0x80 }) else { return append(field) }
        let bytes = "\(field.name): ".utf8 + Latin1.encode(field.value) + [0]
        bytes.withUnsafeBufferPointer { buffer in
            buffer.withMemoryRebound(to: CChar.self) { text in
                guard let start = text.baseAddress,
                    let longer = library.pointee.slist_append(head, start)
                else { return }
                head = longer
            }
        }
    }
}
