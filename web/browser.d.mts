export const CHROMIUM: string;
export const FLAGS: string[];
