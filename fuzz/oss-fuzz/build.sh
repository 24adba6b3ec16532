#!/bin/bash -eu
# Builds every fuzz target, with its seeds and its dictionary where there are some.
cd "$SRC/lastrank"
cargo fuzz build -O
for target in fuzz/fuzz_targets/*.rs; do
    name=$(basename "$target" .rs)
    cp "fuzz/target/x86_64-unknown-linux-gnu/release/$name" "$OUT/"
    case $name in
        parse | check | plan | format) seeds=ppl dictionary=ppl ;;
        *) seeds=$name dictionary=$name ;;
    esac
    if [ -d "fuzz/seeds/$seeds" ]; then
        zip -jqr "$OUT/${name}_seed_corpus.zip" "fuzz/seeds/$seeds"
    fi
    if [ -f "fuzz/$dictionary.dict" ]; then
        cp "fuzz/$dictionary.dict" "$OUT/$name.dict"
    fi
done
