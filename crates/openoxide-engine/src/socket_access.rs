//! The access to a socket that a call names.

use std::fs;

use openoxide_protocol::{AbsPath, Access, AccessRoute, SocketAccess, Span};

/// Returns the access to a socket that a call names. A path is resolved, because rules match real
/// paths.
pub(crate) fn socket_access(socket: &str) -> Access {
    let access = SocketAccess { socket: socket.to_owned(), route: AccessRoute::Direct };
    match AbsPath::new(socket) {
        Ok(path) => Access::Socket(SocketAccess { socket: real_path(path).to_string(), ..access }),
        Err(_) if access.service().is_some() => Access::Socket(access),
        Err(_) => Access::Opaque { text: socket.to_owned(), span: Span::default() },
    }
}

fn real_path(path: AbsPath) -> AbsPath {
    let real = fs::canonicalize(path.as_str()).ok();
    real.and_then(|real| AbsPath::new(real.to_str()?).ok()).unwrap_or(path)
}
