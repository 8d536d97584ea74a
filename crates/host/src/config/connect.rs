//! From a configured server to one that can be connected to.

use attache_client::{Server, Settings};

use super::{ServerConfig, Transport};

impl ServerConfig {
    /// The settings of a connection.
    pub fn settings(&self) -> Settings {
        Settings {
            era: self.era,
            protocol: self.protocol,
            timeouts: self.timeouts,
            quirks: self.quirks.clone(),
            ..Settings::default()
        }
    }

    /// The server of a child process, ready to be connected to any number of times. It gets an
    /// allow-list of this process's variables and its own `env` on top (S12).
    ///
    /// There is none for a server behind a URL: [`Transport::Http`] holds what an HTTP transport
    /// needs.
    pub fn stdio_server(&self) -> Option<Server> {
        let Transport::Stdio {
            command,
            args,
            env,
            cwd,
        } = &self.transport
        else {
            return None;
        };
        let mut server = Server::stdio(command, args).settings(self.settings());
        for (name, value) in env {
            server = server.env(name, value.expose());
        }
        if let Some(folder) = cwd {
            server = server.current_dir(folder);
        }
        Some(server)
    }
}
