export const RENDITIONS: number[];
export const SEGMENT_SECONDS: number;
export function makeMedia(folder: string, seconds: number): Promise<void>;
