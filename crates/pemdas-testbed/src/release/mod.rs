//! What is given to people: the image of Pemdas, what it is made of, and its manifests. The same code makes what runs on the
//! node in tests, so what is shipped is what was tested.

pub mod image;
pub mod sbom;
