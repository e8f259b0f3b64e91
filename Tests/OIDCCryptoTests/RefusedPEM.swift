/// Files without a key that can sign.
extension PEM {
    static let rsa1024 = """
        -----BEGIN PRIVATE KEY-----
        MIICdwIBADANBgkqhkiG9w0BAQEFAASCAmEwggJdAgEAAoGBAOPUSp6KNcoJaCat
        jHLSpV6Gq3bIaJueFedeNTd21xwsfIWp/ag5I46pMgSjgC2Kpuoz/T2kLhcmYmyq
        PqJfV35gyVz3NGH5g9lHYIt7Ij/42IuAk6sBzubUYrshYfJaqeS7I0C/MC5mvNaD
        nJygC+GkyOl6chlvoz2zWEv3EsjtAgMBAAECgYAcWmMe79xZ1GndxmNgNs7VwLS+
        B5rdIwNe096TlHqYywCEMe+ba+D89BmBckeVY1f6dZXigfgqcWB2XYmF84+TsqHv
        kbaI7l/WqPNhqdvYg5Pfri9P0BZ3M/R+cT70yqUYlCn38fBmYV3IME3E7SSPmj5s
        Yr2eyMs/CiwsJPR8gQJBAPT9DOfGslgtHxNK15wDtTSRbXp7Dh9aXKNPdEzgIcEq
        9FCKZdHUOCX3stqRvq4jJa9wz8RSEl3duH2Ju3eP37UCQQDuEcyeXahx+0sQvZva
        LOfxtyH6EybCXja/1k8P2WLRLnwdrfHHzvURTnGwIy92UcwxKzIoUHFWAgqgjPQm
        mddZAkEAlqA3HRIXeQtU/eGYKv5EnSuE6jdaeYBvUKF7WgC8AC5OxG4zKA2Y8A8Z
        UjUlzZ8ifnmX5JapYDkAQ385WcuFuQJBAIxwmZnOvGDJEmZExFz3Yri4BOYmSBYf
        SALxJOC/p8iouHU1uMzbLLzR3sU+bHBLHr7esY8QrVtEhwphPGJNHLkCQEvxX819
        ysyB4KjbOvtVqVRh8pCD3hpqCiJJSbKh2yML72aewfRLBtCdtbRIK9CzWV7RQbDx
        IBORNIn2WhMRv0g=
        -----END PRIVATE KEY-----

        """

    static let x25519 = """
        -----BEGIN PRIVATE KEY-----
        MC4CAQAwBQYDK2VuBCIEIJBtguSkgYHFBbGr11+sHyC2PLDGPQg+/0aQA4SzLepn
        -----END PRIVATE KEY-----

        """

    static let ed448 = """
        -----BEGIN PRIVATE KEY-----
        MEcCAQAwBQYDK2VxBDsEOVbauV41dXEhrwDufCeAN8+0BpTSDQBqByfJaJ+G+niz
        yXHm81SjgOHT/QL9hL3q2l8ggkXEEi+J6A==
        -----END PRIVATE KEY-----

        """

    static let secp256k1 = """
        -----BEGIN EC PRIVATE KEY-----
        MHQCAQEEIKd8IdK0b8EDHQptW533ajKzL5S+IZU5czDN2RwuZTCxoAcGBSuBBAAK
        oUQDQgAEviiyrLxHSTJU+LBax8N50v4e4fKFKMH7pDsJINN+x36DCYgEOCuPHkUB
        nOe196izNx0hnj8XlQC8C/kmNHp8Uw==
        -----END EC PRIVATE KEY-----

        """

    static let publicKey = """
        -----BEGIN PUBLIC KEY-----
        MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE2Em/qchS7D/JDhxl9pDap7o5MVkN
        D+jpjEtyrsiyECs6SnwREjAcxj00XZggbQK0gve3DWpYNEfkE9GiPVeBUA==
        -----END PUBLIC KEY-----

        """

    static let curveOnly = """
        -----BEGIN EC PARAMETERS-----
        BggqhkjOPQMBBw==
        -----END EC PARAMETERS-----

        """

    static let certificate = """
        -----BEGIN CERTIFICATE-----
        MIIBbTCCAROgAwIBAgIUDdPU3NWYh4OdA/S5dRP9bdyPPG4wCgYIKoZIzj0EAwIw
        DDEKMAgGA1UEAwwBeDAeFw0yNjExMjEwOTQ3NDhaFw0yNjEyMjEwOTQ3NDhaMAwx
        CjAIBgNVBAMMAXgwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAATYSb+pyFLsP8kO
        HGX2kNqnujkxWQ0P6OmMS3KuyLIQKzpKfBESMBzGPTRdmCBtArSC97cNalg0R+QT
        0aI9V4FQo1MwUTAdBgNVHQ4EFgQUEoKDpL+0Z95nf/93Fg6hsNUmBLMwHwYDVR0j
        BBgwFoAUEoKDpL+0Z95nf/93Fg6hsNUmBLMwDwYDVR0TAQH/BAUwAwEB/zAKBggq
        hkjOPQQDAgNIADBFAiEA1VSwiYICZj4l7Dk9FBHkt3L0w25NX83jc3pqndwdoUAC
        IB5ksSWLiA8aVfUaQjQjMP6vdrCEa/79KcaLD0Raul3P
        -----END CERTIFICATE-----

        """
}
