# The image of Pemdas for those who build with Docker: `docker build -t pemdas:0.1.0 .`
# `cargo xtask image` makes one without Docker, from the same static program.
FROM rust:1.95-bookworm AS build
WORKDIR /pemdas
COPY . .
RUN cargo rustc --locked --release --package pemdas --bin pemdas --features jemalloc -- -C target-feature=+crt-static

FROM scratch
COPY --from=build /pemdas/target/release/pemdas /pemdas
USER 65532:65532
EXPOSE 8080
ENTRYPOINT ["/pemdas"]
