extension ResultPage {
    /// The colors as custom properties, for light and dark.
    package static let palette = """
        :root{color-scheme:light dark;--ground:#f3f1ea;--paper:#fffefb;--ink:#1c2320;--soft:#5b655f;
        --line:#e2ded2;--good:#1d7f5a;--good-wash:#e0f0e7;--bad:#b5472f;--bad-wash:#f8e6df;
        --console:#18211d;--console-ink:#dfe9e3;--shade:0 1px 2px rgb(40 36 20/6%),0 18px 50px rgb(40 36 20/9%)}
        @media(prefers-color-scheme:dark){:root{--ground:#0e1311;--paper:#171e1b;--ink:#edf2ef;--soft:#9aa8a1;
        --line:#29332e;--good:#62d3a0;--good-wash:#1c3a2d;--bad:#ff9a7e;--bad-wash:#43251c;
        --console:#212b26;--console-ink:#cfdbd4;--shade:0 0 0 1px rgb(255 255 255/3%),0 24px 60px rgb(0 0 0/40%)}}

        """

    static let style = """
        *{box-sizing:border-box}
        body{margin:0;min-height:100vh;min-height:100dvh;display:grid;place-items:center;padding:24px;
        background:var(--ground);color:var(--ink);
        font:17px/1.55 ui-sans-serif,system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif}
        body.good{--tone:var(--good);--wash:var(--good-wash)}
        body.bad{--tone:var(--bad);--wash:var(--bad-wash)}
        main{width:100%;max-width:520px;padding:44px 44px 0;background:var(--paper);border-radius:24px;
        box-shadow:var(--shade);overflow:hidden}
        .mark{display:block;width:64px;height:64px;margin:0 0 26px}
        .mark rect{fill:var(--wash)}
        .mark path{fill:none;stroke:var(--tone);stroke-width:4;stroke-linecap:round;stroke-linejoin:round;
        stroke-dasharray:48;animation:draw .5s .1s ease-out both}
        @keyframes draw{from{stroke-dashoffset:48}to{stroke-dashoffset:0}}
        h1{margin:0 0 8px;font-size:36px;line-height:1.15;font-weight:700;letter-spacing:-.025em}
        p{margin:0;overflow-wrap:anywhere}
        .lead{color:var(--soft)}
        .message{color:var(--ink)}
        dl{margin:28px 0 0;border-top:1px solid var(--line)}
        dl div{display:grid;grid-template-columns:104px 1fr;gap:16px;padding:13px 0;
        border-bottom:1px solid var(--line)}
        dl div:last-child{border-bottom:0}
        dt{color:var(--soft)}
        dd{margin:0;font-weight:600;overflow-wrap:anywhere;unicode-bidi:isolate}
        h2{margin:28px 0 6px;font-size:13px;font-weight:600;color:var(--soft)}
        .advice{padding:14px 18px;border-radius:12px;background:var(--wash);unicode-bidi:isolate}
        .closing{margin:32px -44px 0;padding:20px 44px 22px;
        background:var(--console);color:var(--console-ink);
        font:14px/1.6 ui-monospace,"SF Mono",Menlo,Consolas,"Noto Sans Mono",monospace}
        .closing::before{content:"$";content:"$"/"";margin-right:14px;color:#62d3a0}
        .closing i{display:inline-block;width:.6em;height:1.15em;margin-left:.5em;vertical-align:-.22em;
        background:currentcolor;opacity:.75;animation:blink 1.2s steps(1) 8}
        @keyframes blink{50%{opacity:0}}
        .bad .closing::before{color:#ff9a7e}
        @media(max-width:520px){body{padding:14px}main{padding:32px 26px 0;border-radius:20px}
        h1{font-size:31px}.closing{margin:28px -26px 0;padding:18px 26px 20px}
        dl div{grid-template-columns:1fr;gap:2px}}
        @media(prefers-reduced-motion:reduce){.mark path,.closing i{animation:none}}

        """
}
