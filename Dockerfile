# syntax=docker/dockerfile:1

# The pages' scripts come from npm; their install scripts do not run.
FROM node:22-bookworm-slim AS npm
WORKDIR /src/static
COPY static/package.json static/package-lock.json static/.npmrc ./
RUN npm ci --ignore-scripts --no-audit --no-fund

FROM golang:1.26-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN --mount=type=cache,target=/go/pkg/mod go mod download
COPY . .
COPY --from=npm /src/static/node_modules static/node_modules
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build \
    touch static/node_modules/.installed && make assets && \
    CGO_ENABLED=0 go build -trimpath -ldflags='-s -w' -o /filmroom . && \
    install -d -o 65532 -g 65532 -m 700 /data

# Nothing but the program: no shell, and a user without rights.
FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /filmroom /filmroom
COPY --from=build --chown=65532:65532 /data /data
ENV FILMROOM_LISTEN=:8080 FILMROOM_DATA_DIR=/data
VOLUME /data
EXPOSE 8080
USER 65532:65532
ENTRYPOINT ["/filmroom"]
