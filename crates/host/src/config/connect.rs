//! From a configured server to one that can be connected to.

use attache_client::{Server, Settings};

use super::ServerConfig;

impl ServerConfig {
    /// The settings of a connection.
    pub fn settings(&self) -> Settings {
        let mut settings = self.server.settings.clone();
        if let Some(client) = &self.client {
            settings.identity = client.clone();
        }
        settings
    }

    /// The server, ready to be connected to any number of times: named as this client wants to be
    /// named to it, and with its ready token. Logins come from [`Accounts`](crate::Accounts).
    pub fn server(&self) -> Server {
        let mut server = self.server.clone().settings(self.settings());
        if let Some(token) = &self.auth.token {
            server = server.header("authorization", format!("Bearer {}", token.expose()));
        }
        server
    }
}
