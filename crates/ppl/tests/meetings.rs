//! Tests the check of meetings on random programs: accepted ones never hang, refused ones do.

#[path = "common/hall.rs"]
mod hall;

use std::fmt::Write;

use hall::{End, gather};
use ppl::interpret::random::RandomSequence;
use ppl::plan::{Plan, Settings};
use ppl::{Diagnostic, Source, compile};

/// Generates random programs.
struct Author {
    random: RandomSequence,
    out: String,
    /// Statements left to write.
    left: u32,
    functions: u64,
    /// Whether it is inside a function.
    inside: bool,
    loops: u32,
    workers: bool,
    stonewall: bool,
    /// Whether to exclude values that only a run shows.
    calm: bool,
    groups: bool,
}

impl Author {
    fn below(&mut self, bound: u64) -> u64 {
        self.random.below(bound)
    }

    /// A whole program.
    fn program(seed: u64) -> String {
        let mut random = RandomSequence::new(seed, 0);
        let (functions, groups) = (random.below(3), random.below(2) == 0);
        let left = 6 + random.below(12) as u32;
        let mut author = Self {
            random,
            out: String::new(),
            left,
            functions,
            inside: false,
            loops: 0,
            workers: false,
            stonewall: false,
            calm: seed.is_multiple_of(2),
            groups,
        };
        if groups {
            author.out += ["define groups {\"a\":D, \"b\":D};\n", "define groups {\"a\", \"b\":S};\n"]
                [author.random.below(2) as usize];
        }
        author.out += "define pattern {\"p\", 1, 1, 1};\n$a = 0; $b = 1; $c = 2; $d = 3;\n";
        for at in 0..functions {
            writeln!(author.out, "def f{at}($x) {{").unwrap();
            author.inside = true;
            // Most functions call only earlier ones; some recurse until the stack limit.
            author.functions = if author.below(10) == 0 { functions } else { at };
            author.statements(3);
            if author.below(2) == 0 {
                let value = author.expression(2);
                writeln!(author.out, "return {value};").unwrap();
            }
            author.inside = false;
            author.out += "}\n";
        }
        author.functions = functions;
        while author.left > 0 {
            author.statement(0);
        }
        author.out
    }

    fn statements(&mut self, most: u64) {
        for _ in 0..1 + self.below(most) {
            self.statement(1);
        }
    }

    fn variable(&mut self) -> &'static str {
        let most = if self.inside { 5 } else { 4 };
        ["$a", "$b", "$c", "$d", "$x"][self.below(most) as usize]
    }

    /// A number from 0 to 3, usually the same on all ranks.
    fn expression(&mut self, depth: u32) -> String {
        let deeper = depth > 0 && self.below(2) == 0;
        if !deeper {
            return match self.below(if self.calm { 17 } else { 22 }) {
                0..8 => self.below(4).to_string(),
                8..15 => self.variable().into(),
                15 => "($$size % 3)".into(),
                16 => "$$rank".into(),
                17 => ["($$grank + 1)", "($$rand % 3)", "stat(\"f\")"][self.below(3) as usize].into(),
                18 => "($$crand % 3)".into(),
                19 if self.functions > 0 => {
                    let (at, argument) = (self.below(self.functions), self.expression(0));
                    format!("f{at}({argument})")
                }
                20 if self.groups => "($$group == \"a\")".into(),
                _ => "1".into(),
            };
        }
        let [a, b, c] = [0; 3].map(|_| self.expression(depth - 1));
        match self.below(7) {
            0 => format!("(({a} + {b}) % 4)"),
            1 => format!("({a} < {b})"),
            2 => format!("({a} == {b})"),
            3 => format!("({a} && {b})"),
            4 => format!("({a} || {b})"),
            5 => format!("({a} ? {b} : {c})"),
            _ => format!("[{a}, {b}][{c} > 1]"),
        }
    }

    fn body(&mut self, head: &str, depth: u32) {
        writeln!(self.out, "{head} {{").unwrap();
        for _ in 0..1 + self.below(3) {
            self.statement(depth + 1);
        }
        self.out += "}\n";
    }

    fn loop_body(&mut self, head: &str, depth: u32) {
        self.loops += 1;
        self.body(head, depth);
        self.loops -= 1;
    }

    /// A meeting.
    fn meeting(&mut self, depth: u32) {
        if self.workers {
            return;
        }
        match self.below(if self.groups { 10 } else { 6 }) {
            0..2 => self.out += "barrier;\n",
            2 if self.calm => self.out += "largest($a);\n",
            2 => {
                let (variable, value) = (self.variable(), self.expression(1));
                writeln!(self.out, "{variable} = largest({value}) % 4;").unwrap();
            }
            3 => self.out += "pdelete(\"f\");\n",
            4 => self.body("phase \"p\"", depth),
            5 => self.out += "let $f = pfopen(\"f\", \"c\"); pfwrite($f, \"p\"); pfclose($f);\n",
            6 => self.out += "barrier(\"a\");\n",
            7 => self.out += "group \"a\" { barrier(\"a\"); }\n",
            8 => self.out += "barrier(\"b\");\n",
            _ => self.out += "group \"b\" { pwrite(\"f\", \"p\"); }\n",
        }
    }

    fn statement(&mut self, depth: u32) {
        self.left = self.left.saturating_sub(1);
        let kinds = if depth > 4 { 9 } else { 22 };
        match self.below(kinds) {
            0..3 => self.meeting(depth),
            3..6 => {
                let (variable, value) = (self.variable(), self.expression(2));
                writeln!(self.out, "{variable} = {value};").unwrap();
            }
            6 if self.loops > 0 => {
                let word = ["break;\n", "continue;\n"][self.below(2) as usize];
                self.out += word;
            }
            7 if self.inside => {
                let value = self.expression(1);
                writeln!(self.out, "return {value};").unwrap();
            }
            8 if self.functions > 0 => {
                let (at, argument) = (self.below(self.functions), self.expression(1));
                writeln!(self.out, "f{at}({argument});").unwrap();
            }
            9..13 => {
                let condition = self.expression(2);
                self.body(&format!("if {condition}"), depth);
                if self.below(2) == 0 {
                    self.body("else", depth);
                }
            }
            13..15 => {
                let count = self.expression(1);
                self.loop_body(&format!("repeat {count}"), depth);
            }
            15 => {
                let (from, to, step) = (self.expression(0), self.expression(1), self.expression(0));
                self.loop_body(&format!("for $i in {from}..{to} step 1 + {step}"), depth);
            }
            16 => {
                let variable = self.variable();
                self.loop_body(&format!("while {variable} > 0"), depth);
                writeln!(self.out, "{variable} = {};", self.random.below(3)).unwrap();
            }
            17 => self.loop_body("for $v in [1, 2]", depth),
            18 if !self.calm => self.loop_body("for 1ms", depth),
            19 => self.outer(depth),
            20 if self.groups => {
                let head = ["group \"a\"", "group \"b\""][self.below(2) as usize];
                self.body(head, depth);
            }
            _ => self.body("time \"t\"", depth),
        }
    }

    /// A statement that only some ranks enter.
    fn outer(&mut self, depth: u32) {
        match self.below(if self.calm { 2 } else { 4 }) {
            0 => self.body("master", depth),
            1 => {
                let (loops, workers) =
                    (std::mem::take(&mut self.loops), std::mem::replace(&mut self.workers, true));
                self.body("parallel 2", depth);
                (self.loops, self.workers) = (loops, workers);
            }
            2 if !self.workers && !self.stonewall => {
                self.stonewall = true;
                self.body("phase \"s\" stonewall", depth);
                self.stonewall = false;
            }
            _ => {
                let (one, two) = (self.variable(), self.variable());
                writeln!(self.out, "choose {{ 1: {one} = 1; 2: {two} = 2; }}").unwrap();
            }
        }
    }
}

fn plan(text: &str, settings: &Settings<'_>) -> (Option<Plan>, Vec<Diagnostic>) {
    match compile(&mut Source::new("p.ppl", text), settings, false, None) {
        Ok((plan, found)) => (Some(plan), found),
        Err(found) => (None, found),
    }
}

fn has(found: &[Diagnostic], code: &str) -> bool {
    found.iter().any(|one| one.code.as_str() == code)
}

/// Counts of the results of all programs.
#[derive(Debug, Default)]
struct Drawn {
    content: u32,
    doubted: u32,
    refused: u32,
    meet: u32,
    stuck: u32,
}

/// Judges one program with `ranks` ranks.
fn judge(seed: u64, text: &str, ranks: u32, tally: &mut Drawn) {
    let (_, anywhere) = plan(text, &Settings { tentative: true, ..Settings::default() });
    let (own, found) = plan(text, &Settings { ranks: Some(ranks), ..Settings::default() });
    let others = |one: &&Diagnostic| !["W0106", "E0401", "W0108", "N0101"].contains(&one.code.as_str());
    if found.iter().any(|one| others(&one)) {
        panic!("seed {seed}: {:?}\n{text}", found.iter().find(others));
    }
    let refused = has(&found, "E0401");
    // A refused program is run too: as the plan for one rank, on more ranks.
    let plan = match own {
        Some(plan) => plan,
        None => {
            let (Some(mut alone), _) = plan(text, &Settings::default()) else { return };
            let groups = ranks_of_groups(text, ranks);
            alone.ranks = ranks;
            for (group, ranks) in alone.groups.iter_mut().zip(groups) {
                group.ranks = ranks;
            }
            alone
        }
    };
    let doubted = has(&found, "W0106");
    match (refused, doubted) {
        (true, _) => tally.refused += 1,
        (false, true) => tally.doubted += 1,
        (false, false) => tally.content += u32::from(text.contains("barrier")),
    }
    for chance in 0..2 {
        let end = gather(&plan, seed.wrapping_mul(31) + chance);
        tally.meet += u32::from(end == End::AllMeet);
        tally.stuck += u32::from(end == End::Stuck);
        let content = !doubted && !refused;
        let right = match end {
            End::Stuck | End::Mixed if content => false,
            End::Stuck | End::Mixed if !has(&anywhere, "W0106") && !refused => false,
            End::AllMeet if refused => false,
            _ => true,
        };
        assert!(right, "seed {seed}, {ranks} ranks, {end:?}, refused {refused}, doubted {doubted}:\n{text}");
    }
}

/// The ranks of the world and of the groups of the program.
fn ranks_of_groups(text: &str, ranks: u32) -> Vec<Vec<u32>> {
    // The same definitions without statements.
    let define: String = text.lines().filter(|line| line.starts_with("define groups")).collect();
    let (plan, _) = plan(&define, &Settings { ranks: Some(ranks), ..Settings::default() });
    plan.expect("only groups").groups.into_iter().map(|group| group.ranks).collect()
}

#[test]
fn accepted_programs_never_hang_and_refused_ones_do() {
    let mut tally = Drawn::default();
    let programs = std::env::var("LASTRANK_PROGRAMS").ok().and_then(|text| text.parse().ok());
    for seed in 0..programs.unwrap_or(400) {
        let text = Author::program(seed);
        judge(seed, &text, 2 + (seed % 3) as u32, &mut tally);
    }
    // Each result must occur often enough to be meaningful.
    println!("{tally:?}");
    assert!(tally.content > 50 && tally.doubted > 50 && tally.refused > 10, "{tally:?}");
    assert!(tally.meet > 200 && tally.stuck > 40, "{tally:?}");
}
