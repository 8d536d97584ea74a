"""A server of the official Python SDK behind OAuth, with its authorization server beside it.

    python guarded.py PORT

A client gets the token with its credentials, without a person.
"""

import sys

from mcp.server import MCPServer
from mcp.server.auth.provider import AccessToken
from mcp.server.auth.settings import AuthSettings
from starlette.requests import Request
from starlette.responses import JSONResponse

PORT = int(sys.argv[1])
ISSUER = f"http://127.0.0.1:{PORT}"
TOKEN = "a-token-of-the-test"


class Verifier:
    async def verify_token(self, token: str) -> AccessToken | None:
        if token != TOKEN:
            return None
        return AccessToken(token=token, client_id="tester", scopes=["read"])


server = MCPServer(
    "guarded",
    version="1",
    token_verifier=Verifier(),
    auth=AuthSettings(
        issuer_url=ISSUER, resource_server_url=f"{ISSUER}/mcp", required_scopes=["read"]
    ),
)


@server.tool()
def add(a: int, b: int) -> int:
    return a + b


@server.custom_route("/.well-known/oauth-authorization-server", methods=["GET"])
async def metadata(_: Request) -> JSONResponse:
    return JSONResponse(
        {
            "issuer": ISSUER,
            "authorization_endpoint": f"{ISSUER}/authorize",
            "token_endpoint": f"{ISSUER}/token",
            "response_types_supported": ["code"],
            "grant_types_supported": ["client_credentials"],
            "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": ["client_secret_basic", "client_secret_post"],
        }
    )


@server.custom_route("/token", methods=["POST"])
async def token(_: Request) -> JSONResponse:
    return JSONResponse(
        {"access_token": TOKEN, "token_type": "Bearer", "expires_in": 3600, "scope": "read"}
    )


server.run("streamable-http", host="127.0.0.1", port=PORT)
