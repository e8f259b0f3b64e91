import Foundation

/// Keys generated for these tests with `openssl`; the passphrase of encrypted ones is "correct".
enum PEM {
    static let rsaModulus = bytes(
        hex: "ce109499d8fd50d4e91f27f85045d136819bbf612e24eafc4e567e4033d9bb7bb6cd98908618aff84ba4cc754c"
            + "5707b0a2b32129dbb7567ebf63969bb780593189b7bc8259c1064b87694484c7d3c34525288b52eda7b1c1557f"
            + "573d50574e2ae7a0b419529add1441b753c507c149d7b60819f0ee79de960465390efe3f61922b54c3f3983d46"
            + "d306548bbbf3f51b4d8e21972efd53948b53b1f13e297fc746421c026c947e89191b41861aa45dddd8405a9d1a"
            + "7e036463129e0526acb8ae792d85ce033027381293ba2d9046300637434f749eff147a6e0f1f164b4ca59ec6a3"
            + "5d86b3d41ce90a076af602a46d647768c0ce0dda1b6e32703a47c6ab8fca79")
    static let p256X = bytes(hex: "d849bfa9c852ec3fc90e1c65f690daa7ba3931590d0fe8e98c4b72aec8b2102b")
    static let p256Y = bytes(hex: "3a4a7c1112301cc63d345d98206d02b482f7b70d6a583447e413d1a23d578150")
    static let ed25519Point = bytes(hex: "cce4894047780d2880ab8d8eec6bd9bd813c95c1fec2476fb5b71f53a2b80d86")

    static let rsaPKCS8 = """
        -----BEGIN PRIVATE KEY-----
        MIIEvAIBADANBgkqhkiG9w0BAQEFAASCBKYwggSiAgEAAoIBAQDOEJSZ2P1Q1Okf
        J/hQRdE2gZu/YS4k6vxOVn5AM9m7e7bNmJCGGK/4S6TMdUxXB7CisyEp27dWfr9j
        lpu3gFkxibe8glnBBkuHaUSEx9PDRSUoi1Ltp7HBVX9XPVBXTirnoLQZUprdFEG3
        U8UHwUnXtggZ8O553pYEZTkO/j9hkitUw/OYPUbTBlSLu/P1G02OIZcu/VOUi1Ox
        8T4pf8dGQhwCbJR+iRkbQYYapF3d2EBanRp+A2RjEp4FJqy4rnkthc4DMCc4EpO6
        LZBGMAY3Q090nv8Uem4PHxZLTKWexqNdhrPUHOkKB2r2AqRtZHdowM4N2htuMnA6
        R8arj8p5AgMBAAECggEAA4j4I6XOK9Wtf9jCQzLYkD+r0J4adWg/KPVzd93r2N/R
        BG+fBDudVKDVSzSiOTP9bS0bzNKaHSRSW6NLOSU9GVVQ6naukuxIb/33vqmtyJ04
        e2XdDFYZj/vLyOFZQFh08kFyFYCOImw3ZYjfN5OyuXTojPTOAoU1l1dtNARbbf8L
        vcuTOGw7gsTNclwnLpvqURSyOINtI2xp0c195W1FHP349twDufezOpCD2+NFE451
        fIod6z6+8UE4CKkBFlELvnn5fKmKbrBhzGB1VGEotRorZELjGTrW8RK2yXNEt0TC
        N3ZEaIcCerXGqxnyYcL8HMuYKND1hsODZYjhK/TMiQKBgQD78ycS0LxzfrVDIbBT
        jaolHlBsko47N1LE3eYduy7UJEgXtHc3XyhPzPY6FOUZBBl3YNa8btrY1D6VguOm
        aDUXBlyqTosUWUAV3oug7rzDSmftdRWfFlxSmNAXKVkQFS+NynAkY3jUbO+WqjKH
        LqgXLhFxZAI+rzVu4tXchHnHkwKBgQDRYJjwQ25+l5RaZ2d2I3e2jhkmCrifv/Me
        fYtK9t2s8QBnAINAC8vbuMk3X2YuabFGokxYi2V2Bhs816QEc8UYnfRBnfdRJJLB
        NuoVy3dOxW2E1fd3pZa/0QL6BVBRXYk21Wa9g8UpGvxSTqpeXl4i/tWHP1mjbcFg
        WL+P7FiVQwKBgC4ysrp3fearmC8cEUnw0v8FZPfTk7L1/P5ONfDDrt2FXZbDJ40G
        rMydJ5UU2cFRiB3kqttYdFaH7IXbv0R3HS0ApKMxzbzIdMDN0sqKnCAvF4lqC7Hl
        Fr6qeJWWplcVm2ejdBaoCrLg2rnEsYkqG/ZMIzSoguTdma2geFh8DhxzAoGAWjVQ
        L1QeKxSLqleaz9+AGHsogqdj3BALYzub4/Rwla5QChDCe7mZX1VB/EVx9NU8t739
        PrjwQeVnntMZq4FljbGgJxU0FRW41N4gBLvg72NISE8Xi8kgJgybR7U6YZP3JlTT
        Kxu2unsR8zRJWtc1n8ZDoT2+FReYlTYnco7Vq5kCgYBzJt1dFjkO/9+5lKxZ0e5P
        HrLe2qxJQ+NJqKrdmh6WFg99qtZAR5gAfurHqDKeimoLTgDyaiubBJ6pgdNRFakI
        68r2wi8GiUR5CmLTCsUkCR7bsDaxUACKcA9TmJFqXYuAGclEOLUcwWwvLrQtKZjo
        fen44hEKu1LWBjyc5lOprQ==
        -----END PRIVATE KEY-----

        """

    static let rsaTraditional = """
        -----BEGIN RSA PRIVATE KEY-----
        MIIEogIBAAKCAQEAzhCUmdj9UNTpHyf4UEXRNoGbv2EuJOr8TlZ+QDPZu3u2zZiQ
        hhiv+EukzHVMVweworMhKdu3Vn6/Y5abt4BZMYm3vIJZwQZLh2lEhMfTw0UlKItS
        7aexwVV/Vz1QV04q56C0GVKa3RRBt1PFB8FJ17YIGfDued6WBGU5Dv4/YZIrVMPz
        mD1G0wZUi7vz9RtNjiGXLv1TlItTsfE+KX/HRkIcAmyUfokZG0GGGqRd3dhAWp0a
        fgNkYxKeBSasuK55LYXOAzAnOBKTui2QRjAGN0NPdJ7/FHpuDx8WS0ylnsajXYaz
        1BzpCgdq9gKkbWR3aMDODdobbjJwOkfGq4/KeQIDAQABAoIBAAOI+COlzivVrX/Y
        wkMy2JA/q9CeGnVoPyj1c3fd69jf0QRvnwQ7nVSg1Us0ojkz/W0tG8zSmh0kUluj
        SzklPRlVUOp2rpLsSG/9976prcidOHtl3QxWGY/7y8jhWUBYdPJBchWAjiJsN2WI
        3zeTsrl06Iz0zgKFNZdXbTQEW23/C73LkzhsO4LEzXJcJy6b6lEUsjiDbSNsadHN
        feVtRRz9+PbcA7n3szqQg9vjRROOdXyKHes+vvFBOAipARZRC755+Xypim6wYcxg
        dVRhKLUaK2RC4xk61vEStslzRLdEwjd2RGiHAnq1xqsZ8mHC/BzLmCjQ9YbDg2WI
        4Sv0zIkCgYEA+/MnEtC8c361QyGwU42qJR5QbJKOOzdSxN3mHbsu1CRIF7R3N18o
        T8z2OhTlGQQZd2DWvG7a2NQ+lYLjpmg1FwZcqk6LFFlAFd6LoO68w0pn7XUVnxZc
        UpjQFylZEBUvjcpwJGN41Gzvlqoyhy6oFy4RcWQCPq81buLV3IR5x5MCgYEA0WCY
        8ENufpeUWmdndiN3to4ZJgq4n7/zHn2LSvbdrPEAZwCDQAvL27jJN19mLmmxRqJM
        WItldgYbPNekBHPFGJ30QZ33USSSwTbqFct3TsVthNX3d6WWv9EC+gVQUV2JNtVm
        vYPFKRr8Uk6qXl5eIv7Vhz9Zo23BYFi/j+xYlUMCgYAuMrK6d33mq5gvHBFJ8NL/
        BWT305Oy9fz+TjXww67dhV2WwyeNBqzMnSeVFNnBUYgd5KrbWHRWh+yF279Edx0t
        AKSjMc28yHTAzdLKipwgLxeJagux5Ra+qniVlqZXFZtno3QWqAqy4Nq5xLGJKhv2
        TCM0qILk3ZmtoHhYfA4ccwKBgFo1UC9UHisUi6pXms/fgBh7KIKnY9wQC2M7m+P0
        cJWuUAoQwnu5mV9VQfxFcfTVPLe9/T648EHlZ57TGauBZY2xoCcVNBUVuNTeIAS7
        4O9jSEhPF4vJICYMm0e1OmGT9yZU0ysbtrp7EfM0SVrXNZ/GQ6E9vhUXmJU2J3KO
        1auZAoGAcybdXRY5Dv/fuZSsWdHuTx6y3tqsSUPjSaiq3ZoelhYPfarWQEeYAH7q
        x6gynopqC04A8mormwSeqYHTURWpCOvK9sIvBolEeQpi0wrFJAke27A2sVAAinAP
        U5iRal2LgBnJRDi1HMFsLy60LSmY6H3p+OIRCrtS1gY8nOZTqa0=
        -----END RSA PRIVATE KEY-----

        """

    static let rsaTraditionalEncrypted = """
        -----BEGIN RSA PRIVATE KEY-----
        Proc-Type: 4,ENCRYPTED
        DEK-Info: AES-256-CBC,633C968E1C9F9E24109E1EACAB997466

        hRCxTKvV/27IVL4J4jgznIaSFfFmRcSvxocLWkVShtt+tiRCmkfCd9TatOcL5d+r
        u9NMBjmdF7ho4CLP2e6o+UcdQG6X/5u+PM/Jc+bA8TO6NtArEwjI+oFFDsPeuf2S
        frX50XyfbsGOKcp30XnTf5cAOWaYWJTNcfT5hjprpJNbSvGCwZLwHNcqcpD0LUmR
        IkaesR7s7nD7s9ZmhmgQ5265cSIVrgZOtiVvGbrJNHceEWzUulQe0joanjmfTAnc
        oDAzgVkajDa6fezEaryh0uzuIEDzrDJB9U0u2gFiUDo5SBJsd+BBQA7Ac6GSZcJ/
        kG71hg62w+sJ7V89P11DQHQZk4R43+lZdbBtIJrA3/qbMBVVifk4SUC6GfZBoq8k
        mCwu79Em0fS8sTQyTFXU2INfZ+b8i31Uw6oZPitvNl/zmcRrtU+4TBbVokg0OzVY
        VVsVPf//9WyEVbA5C6JQj6TS+PlcBVEB6PuNqdDPV3jaXRUQtrPzjYC1AHEAYxfl
        /Ph5QpKkCRXAf4tWYDykyhHZIZ/fCUXD0xDFy8MuF8ED+sa3RR+84qJYwdpXUIkH
        Y3NkYU2mO18hcZA/YdG+nnJn2ciHhWeoB7XDi1asZfJIVZu0925DMKHmrFQ/Tp8T
        oaU3vrw+8pBVl0tHSO2m2rklIK5qiLuL54tuisLSf7cUmksOZuh2DZO7DXfB6HQ9
        xek6BJcUfehDK2SJrdnP013IVC6AFAzxfKTTMKrciVBsX3gzN/+6kAo6xC40VFHC
        /a+dpi26xtyKGDlCCl/iC5d17BL+vo+v5DasFUWoEsqalx0G3K7r3UT+Y1IOROPZ
        0csPDpY+dyYe9kFu+3CMXFqkiQNPCcUQO49ajTPw3bHKat7Ta+WPpmhlIFJQ9Bv5
        WTD6pzWAKxF5BPnt6nBEzWh8Xi9tAZwixee2NiJQ84xDJ3rtQ/jfJEukRTBKrq2s
        9q5lV2kX9ykLqKApAScvBuVkM0jlpEBtBADvJwPb6S0WjRxVvrGnO1E61H8gRFA/
        BMsWC2OsAcx52bpl7PWnCxsP9Js7IRDM/vKqKACIjlmuGskQy7ja0NSl901kppgz
        Ql4KJJAKK7fA7CPQTIXV75VfiEz2+o3OBVKDNfMB3UUxMxB5Kqs2yPndIX5lJpx0
        V/h/wU40BBPOnpnIwq1huoPtPKKd8IqlSAPSg9uI+1eExBQBt5VH/hIsCNpb6p2B
        cGWfw0boQbBf36a/UApHRDsdGRVUPHyg4VIOr5cYT5jVImMjWtGfxi6ieT9DhXfg
        QiAyNFBa20KmGlztRslzBOIq36n4SzFtUnT1gWzxrI+m+RgRn7cPIGNjhUzzwp2r
        KeM1HOdN+rHyVFlS2kCBiARBtD+UvaQgjhOorHK3EY7WAaW5jzm0vq3J6vzAhMdS
        KBHHBanf+bfdbMKBi6gX/uqP/CpOsRqQEgF2WfzwrZW1rZPVGXWrBedPtFEqTzig
        LHfyv0BaEx9iAxkAm8DEXFYm2koki2h19TjbsLzyn2qxYpOnsED+Y7ZRjqyWYGvN
        jmf5zXljixVOOxsjVR0/JCt30qUC9C8apMUSYzZ69lxLAabYOjK2uzDurADRfqT1
        -----END RSA PRIVATE KEY-----

        """

    static let p256Traditional = """
        -----BEGIN EC PARAMETERS-----
        BggqhkjOPQMBBw==
        -----END EC PARAMETERS-----
        -----BEGIN EC PRIVATE KEY-----
        MHcCAQEEIJuQrSVd3FTVtdR271FDKY3VN6xksA6yV661hOW2q9aaoAoGCCqGSM49
        AwEHoUQDQgAE2Em/qchS7D/JDhxl9pDap7o5MVkND+jpjEtyrsiyECs6SnwREjAc
        xj00XZggbQK0gve3DWpYNEfkE9GiPVeBUA==
        -----END EC PRIVATE KEY-----

        """

    static let p256PKCS8 = """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgm5CtJV3cVNW11Hbv
        UUMpjdU3rGSwDrJXrrWE5bar1pqhRANCAATYSb+pyFLsP8kOHGX2kNqnujkxWQ0P
        6OmMS3KuyLIQKzpKfBESMBzGPTRdmCBtArSC97cNalg0R+QT0aI9V4FQ
        -----END PRIVATE KEY-----

        """

    static let p256Encrypted = """
        -----BEGIN ENCRYPTED PRIVATE KEY-----
        MIHsMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAghEj09qncfVwICCAAw
        DAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEELt3lvBuzUZnP7efFIk+YuoEgZDU
        WLXlmGQpgEHPRycQ9qKdUD7b4BWbKWapbNLrSyFe7MdIMhS6uRbipvo6uRqNQjYE
        CoHXEJofcQKzooK9q7pN3Lt3JdgiekJ+JBOd4mJdfxsQ32ovdJUjxDlKsakBQURD
        zisrIWoH6Q++ewIoeo+Fdf75Sq+EDrzhkqwNRnSo9v0k3WE0lWYt+lzZuloQXL0=
        -----END ENCRYPTED PRIVATE KEY-----

        """

    static let p256EncryptedEmpty = """
        -----BEGIN ENCRYPTED PRIVATE KEY-----
        MIHsMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAj8t+eeQyyONQICCAAw
        DAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEEByXtvKVXZCuFc3+0C+Qr7QEgZBF
        Us+Uy4U9ktfvJEIKBg4IEtg3THS5Dl6Zo9EJd6PVplQPjAl3d3ThvRAxttHOfss4
        y0owBgqYrinwn1zohEZOb3g1ZMtwokaZ3x/km3XnfeUhrLgVI34mzpVledpuC+ht
        iziedvP25eb3XB6nVvLnM4RJaRF78L7vLgCrsODUsJF+Jb+W44r3RaUQPg+KdQY=
        -----END ENCRYPTED PRIVATE KEY-----

        """

    static let p256TraditionalEncrypted = """
        -----BEGIN EC PRIVATE KEY-----
        Proc-Type: 4,ENCRYPTED
        DEK-Info: AES-128-CBC,A457E1EDE9D62212ABE60A061C681DB0

        ogszTULfn5inlGpGLenWnts+wKJzlSGgFUDYExRjbtKikb3yZ278TwhE7/05Ia4c
        sit8ZWBw074kZn40fy0L4Cf5pDqkiWDMOXGx4tA9vTjOC42zXiSdFNpPoTlypnqQ
        LLIDH49ljbaJ7BEgDx1bTyJzGTRlsxBp9O34DiyEqJI=
        -----END EC PRIVATE KEY-----

        """

    static let p256OldCipher = """
        -----BEGIN ENCRYPTED PRIVATE KEY-----
        MIGwMBsGCSqGSIb3DQEFAzAOBAjk35lsBABjVQICCAAEgZCd5w0pzBzbhb7T7MLc
        WYYts24jN+414wqw3e1m8SZFhQAubJqIw3mZ3bWIQWj1FGHsPXzJBLZzU4CI3M/9
        1qxTtE4/9ngZ8stJ3SKI97QSNMVr1CxYBStdax/Uk/z456bjfT0URtSugTv2kHqW
        EqaGgtT9HqcYX8cF3mrnTBw12Fq+WCkeHJ0eMwKaslHBZrk=
        -----END ENCRYPTED PRIVATE KEY-----

        """

    static let p384Traditional = """
        -----BEGIN EC PRIVATE KEY-----
        MIGkAgEBBDBuFS0zSyEj/Kz0fHw/HEsejCeO7WZQbE8xrGGa/a128L8k8NnQRvEG
        fnHdKrPWqvygBwYFK4EEACKhZANiAAQwiRReNNgOqD2R5o/wzm4l6peEp0G6qgWk
        sngL3A8+KSvJHPCjS5Sk+G2Z+OYzmW1tFyFURfAFx6f+zho3/y9yKq8TP5cOnWDb
        cFf+/46fq3S1Uw94BDIrjUAP+AX59xY=
        -----END EC PRIVATE KEY-----

        """

    static let p521PKCS8 = """
        -----BEGIN PRIVATE KEY-----
        MIHuAgEAMBAGByqGSM49AgEGBSuBBAAjBIHWMIHTAgEBBEIAhRoUelP0BrZI+WNL
        Nmex5xKtkQmTQpbfCk9lzVyxr86d3h9gYDiYCHEOGbPhlhe5lN+g9yPj7AnvvBTm
        FL0eiSGhgYkDgYYABABsAkiUx846B6IK22ITRvcYwagRHHJtXrnx07ilnzJWalzo
        YJMyfVi28Aa7wRcECmgGPaiWNPOsOxmJmfsjRRPztACOBdddt1RNx9CXvZciNZb4
        DoOtjFDkuHpbZmacWvpfwfNqf+OvJ6yAQaqRP4wTj7eUL9fLhgblZVjZxy+BSkTx
        yA==
        -----END PRIVATE KEY-----

        """

    static let ed25519PKCS8 = """
        -----BEGIN PRIVATE KEY-----
        MC4CAQAwBQYDK2VwBCIEIDO9jv/LFBOTPVQH/zh+b+lFIVFj8tp8f0Gnyq8tuoZG
        -----END PRIVATE KEY-----

        """
}

func bytes(hex: String) -> [UInt8] {
    let digits = Array(hex)
    return stride(from: 0, to: digits.count, by: 2).map { UInt8(String(digits[$0...($0 + 1)]), radix: 16)! }
}

func bytes(base64URL: String) -> [UInt8] {
    let text = base64URL.replacingOccurrences(of: "-", with: "+").replacingOccurrences(of: "_", with: "/")
    return Array(Data(base64Encoded: text + String(repeating: "=", count: (4 - text.count % 4) % 4))!)
}
