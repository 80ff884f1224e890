//! AAC's own description of a stream: the AudioSpecificConfig of ISO/IEC 14496-3, section 1.6.

/// Object types of HE-AAC and HE-AAC v2: spectral band replication, and parametric stereo with it.
const SBR: u8 = 5;
const PS: u8 = 29;

/// Whether the stream is HE-AAC, of which the decoder plays the core only. It states that by its object type, or for
/// older decoders by an extension after the description of the core.
pub fn is_high_efficiency(config: &[u8]) -> bool {
    let object_type = config.first().map_or(0, |first| first >> 3);
    // Eleven bits of a sync word (0x2b7), five of the object type (5), and one that is set if the extension is there.
    let has_extension = matches!(config, [_, _, 0x56, 0xe5, flags, ..] if flags & 0x80 != 0);
    matches!(object_type, SBR | PS) || has_extension
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn high_efficiency_is_known_by_its_object_type_or_extension() {
        // Low complexity at 44.1 kHz in stereo, without and with the extension.
        assert!(!is_high_efficiency(&[0x12, 0x10]));
        assert!(!is_high_efficiency(&[0x12, 0x10, 0x56, 0xe5, 0x00]));
        assert!(is_high_efficiency(&[0x13, 0x90, 0x56, 0xe5, 0x98]));
        assert!(is_high_efficiency(&[0x2b, 0x92, 0x08, 0x00]));
        assert!(is_high_efficiency(&[0xeb, 0x8a, 0x08, 0x00]));
        assert!(!is_high_efficiency(&[]));
    }
}
