//! From a configured server to one that can be connected to.

use attache_client::{Proxy, Server, Settings};

use super::{ServerConfig, Transport};

impl ServerConfig {
    /// The settings of a connection.
    pub fn settings(&self) -> Settings {
        let mut settings = Settings {
            era: self.era,
            protocol: self.protocol,
            timeouts: self.timeouts,
            quirks: self.quirks.clone(),
            log_level: self.log_level,
            capabilities: self.capabilities,
            ..Settings::default()
        };
        if let Some(client) = &self.client {
            settings.identity = client.clone();
        }
        settings
    }

    /// The server, ready to be connected to any number of times.
    ///
    /// A child process gets an allow-list of this process's variables and its own `env` on top
    /// (S12). Requests to a URL go through the proxy that this process's variables name, as those of
    /// every other tool of the user do; logins come from [`Accounts`](crate::Accounts).
    pub fn server(&self) -> Server {
        let server = match &self.transport {
            Transport::Stdio {
                command,
                args,
                env,
                cwd,
            } => {
                let mut server = Server::stdio(command, args);
                for (name, value) in env {
                    server = server.env(name, value.expose());
                }
                if let Some(folder) = cwd {
                    server = server.current_dir(folder);
                }
                server
            }
            Transport::Http {
                url,
                headers,
                ca_file,
                auth,
                flavor,
            } => {
                let mut server = Server::http(url)
                    .proxy(Proxy::Environment)
                    .http_flavor(*flavor);
                for (name, value) in headers {
                    server = server.header(name, value.expose());
                }
                if let Some(token) = &auth.token {
                    server = server.header("authorization", format!("Bearer {}", token.expose()));
                }
                if auth.allow_plain_http {
                    server = server.allow_plain_http();
                }
                if let Some(file) = ca_file {
                    server = server.ca_file(file);
                }
                server
            }
        };
        server.settings(self.settings())
    }
}
