extension Page {
    /// The style sheet: light or dark by the browser's preference, in one column that fits a phone.
    static let style = """
        :root { color-scheme: light dark; --ink: #1d2130; --soft: #5d6478; --paper: #ffffff;
          --ground: #eef0f7; --line: #dfe2ec; --edge: #7f869c; --accent: #4f5bd5; --accent-ink: #ffffff; --tint: #f0f1fd;
          --bad: #b3261e; }
        @media (prefers-color-scheme: dark) { :root { --ink: #e9ebf3; --soft: #a2a9bd; --paper: #1c1f2a;
          --ground: #12141c; --line: #323748; --edge: #6b7189; --accent: #8c96ff; --accent-ink: #12141c; --tint: #262a3b;
          --bad: #ff8a80; } }
        * { box-sizing: border-box; }
        body { margin: 0; min-height: 100vh; display: flex; flex-direction: column; align-items: center;
          justify-content: center; padding: 24px 16px; gap: 20px; background: var(--ground);
          color: var(--ink); font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
        main { width: 100%; max-width: 424px; padding: 32px; background: var(--paper);
          border: 1px solid var(--line); border-radius: 18px; box-shadow: 0 12px 40px rgb(20 24 50 / 9%); }
        .brand { display: flex; align-items: center; gap: 10px; margin: 0 0 24px; font-size: 14px;
          font-weight: 600; color: var(--soft); }
        .brand svg { width: 26px; height: 26px; }
        .brand rect { fill: var(--accent); } .brand circle, .brand path { fill: var(--accent-ink); }
        h1 { margin: 0 0 8px; font-size: 25px; line-height: 1.25; letter-spacing: -0.015em; }
        main > :last-child { margin-bottom: 0; }
        h1 + .who { margin-top: 14px; }
        p { margin: 0 0 20px; color: var(--soft); overflow-wrap: anywhere; } p b { color: var(--ink); }
        form { margin: 0; }
        button { width: 100%; padding: 12px 16px; border: 1px solid transparent; border-radius: 11px;
          font: inherit; font-weight: 600; cursor: pointer; overflow-wrap: anywhere; }
        button.primary { background: var(--accent); color: var(--accent-ink); }
        button.quiet { background: transparent; border-color: var(--edge); color: var(--ink); }
        button:hover { filter: brightness(1.07); }
        :focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
        form + form, details { margin-top: 12px; }
        summary { padding: 6px 0; color: var(--soft); font-size: 15px; cursor: pointer; }
        label { display: block; margin: 8px 0 6px; font-size: 14px; font-weight: 600; }
        input[type=text] { width: 100%; margin-bottom: 12px; padding: 11px 14px; border-radius: 11px;
          border: 1px solid var(--edge); background: var(--ground); color: var(--ink); font: inherit; }
        input.code { text-align: center; font-size: 22px; letter-spacing: 0.12em;
          text-transform: uppercase; font-family: ui-monospace, Menlo, Consolas, monospace; }
        ul { margin: 0 0 24px; padding: 6px 0; list-style: none; border-radius: 12px;
          background: var(--tint); }
        li { display: flex; flex-direction: column; padding: 8px 16px; }
        li small, code { font: 13px ui-monospace, Menlo, Consolas, monospace; color: var(--soft);
          overflow-wrap: anywhere; }
        .who { display: flex; align-items: center; gap: 12px; margin: 0 0 20px; color: var(--ink); }
        .who span { display: grid; place-items: center; flex: none; width: 40px; height: 40px;
          border-radius: 50%; background: var(--tint); color: var(--accent); font-weight: 700; }
        .big { font: 600 26px ui-monospace, Menlo, Consolas, monospace; letter-spacing: 0.1em;
          text-align: center; padding: 14px; border-radius: 12px; background: var(--tint);
          color: var(--ink); }
        .bad { color: var(--bad); }
        footer { font-size: 13px; color: var(--soft); text-align: center; }
        @media (max-width: 460px) { main { padding: 24px 20px; } }
        """
}
